// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// Elementwise chains that PyTorch rounds once, with its names. Floating dtypes; operands broadcast and have one dtype
/// and place; fp32 inside for bf16 and fp16.
namespace pkb::ref {

Tensor add(const Tensor& a, const Tensor& b, double alpha);  ///< a + alpha * b
Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, double value);  ///< a + value * b * c
Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, double value);  ///< a + value * b / c

}  // namespace pkb::ref
