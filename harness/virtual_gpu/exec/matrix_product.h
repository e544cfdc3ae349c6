// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

/// The arithmetic of tensor cores on fp32. What real ones do inside is not documented: they align and cut off
/// the products of several k before they add them up. Here each product is added to its sum, which starts
/// from C, in ascending order of k, in fp32 rounded to nearest even. Products are exact: where the host has
/// fused multiply-add always, elsewhere while they lie in the range of fp32. Hence results are those of the
/// hardware, bit for bit, where no sum is rounded.
namespace pkb::virtual_gpu {

/// Eight columns of a row. Their order is the one in which a row of an fp32 accumulator lies in two
/// registers: the even columns, then the odd ones.
typedef float Eight __attribute__((vector_size(32)));
inline constexpr std::array<int, 8> kPlaceOfColumn = {0, 4, 1, 5, 2, 6, 3, 7};

/// 8 x 8 sums.
struct Tile {
  std::array<Eight, 8> rows;
};

/// sums += a * b. Element (i, k) of `a` is a[i * stride + k]; `b` has a row of eight columns for each k.
void multiply_add(Tile& sums, const float* a, std::size_t stride, const Eight* b, std::size_t depth);

/// Eight columns, given one after the other with `depth` elements each, as rows for multiply_add.
void transpose(const float* columns, std::size_t depth, Eight* rows);

}  // namespace pkb::virtual_gpu
