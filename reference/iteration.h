// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "reference/scalar.h"
#include "reference/tensor.h"

namespace pkb::ref {

inline constexpr int kMaxDims = 8;

/// a / b of numbers that are not negative. Most fit into 32 bits, where a GPU divides several times faster.
PKB_HD inline std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if ((static_cast<std::uint64_t>(a | b) >> 32) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
  return a / b;
}

/// How to walk several tensors of one shape together: extents and, per tensor, strides in elements, with
/// dimensions that are dense in all of them merged. Plain data, so that a kernel can take it by value.
template <int N>
struct Walk {
  int dims = 0;
  std::int64_t count = 0;
  std::int64_t extents[kMaxDims] = {};
  std::int64_t strides[N][kMaxDims] = {};

  /// All are dense: element i is at offset i in each.
  bool dense() const {
    if (dims > 1) return false;
    for (int n = 0; n < N; ++n)
      if (dims == 1 && strides[n][0] != 1) return false;
    return true;
  }

  /// Offsets of element `index` (row-major) in each tensor.
  PKB_HD void offsets(std::int64_t index, std::int64_t (&out)[N]) const {
    for (int n = 0; n < N; ++n) out[n] = 0;
    for (int d = dims - 1; d > 0; --d) {
      const std::int64_t rest = quotient(index, extents[d]), here = index - rest * extents[d];
      for (int n = 0; n < N; ++n) out[n] += here * strides[n][d];
      index = rest;
    }
    if (dims > 0)
      for (int n = 0; n < N; ++n) out[n] += index * strides[n][0];
  }
};

namespace detail {

/// Merges dimensions in place; `strides[n]` has room for kMaxDims. Returns the dims that are left.
int merge_dims(int dims, std::int64_t* extents, std::span<std::int64_t* const> strides);

}  // namespace detail

/// @throws ShapeError for more than kMaxDims dimensions. All tensors have the shape of the first.
template <class... Rest>
Walk<1 + sizeof...(Rest)> walk(const Tensor& first, const Rest&... rest) {
  Walk<1 + sizeof...(Rest)> result;
  require(first.dim() <= kMaxDims, "a tensor of shape {} has more than {} dimensions", first.shape(),
          kMaxDims);
  result.count = first.numel();
  const Tensor* const tensors[] = {&first, &rest...};
  std::int64_t* strides[1 + sizeof...(Rest)];
  for (int n = 0; n < int(1 + sizeof...(Rest)); ++n) {
    strides[n] = result.strides[n];
    for (int d = 0; d < first.dim(); ++d) result.strides[n][d] = tensors[n]->strides()[std::size_t(d)];
  }
  for (int d = 0; d < first.dim(); ++d) result.extents[d] = first.shape()[std::size_t(d)];
  result.dims = detail::merge_dims(first.dim(), result.extents, strides);
  return result;
}

/// The shape that both expand to (NumPy's and PyTorch's broadcasting). @throws ShapeError naming `what`.
Shape broadcast_shape(const char* what, const Shape& a, const Shape& b);

}  // namespace pkb::ref
