// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix_product.h"

// Compiled with contraction: a product and the sum it goes into are one operation where the host has it.
namespace pkb::virtual_gpu {

void multiply_add(Tile& sums, const float* a, std::size_t stride, const Eight* b, std::size_t depth) {
  Eight s0 = sums.rows[0], s1 = sums.rows[1], s2 = sums.rows[2], s3 = sums.rows[3];
  Eight s4 = sums.rows[4], s5 = sums.rows[5], s6 = sums.rows[6], s7 = sums.rows[7];
  for (std::size_t k = 0; k < depth; ++k, ++a) {
    const Eight row = b[k];
    s0 += a[0] * row;
    s1 += a[stride] * row;
    s2 += a[2 * stride] * row;
    s3 += a[3 * stride] * row;
    s4 += a[4 * stride] * row;
    s5 += a[5 * stride] * row;
    s6 += a[6 * stride] * row;
    s7 += a[7 * stride] * row;
  }
  sums.rows = {s0, s1, s2, s3, s4, s5, s6, s7};
}

void transpose(const float* columns, std::size_t depth, Eight* rows) {
  auto* out = reinterpret_cast<float*>(rows);
  for (std::size_t k = 0; k < depth; ++k)
    for (std::size_t j = 0; j < 8; ++j)
      out[8 * k + static_cast<std::size_t>(kPlaceOfColumn[j])] = columns[j * depth + k];
}

}  // namespace pkb::virtual_gpu
