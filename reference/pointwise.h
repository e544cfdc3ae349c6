// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/tensor.h"

/// Elementwise functions and comparisons with PyTorch's names; operands broadcast and have one dtype and
/// place. Functions take floating dtypes, compute in fp32 for bf16 and fp16 and round once. A mask is a uint8
/// tensor of 0 and 1 (torch.bool).
namespace pkb::ref {

Tensor operator-(double a, const Tensor& b);
Tensor operator/(const Tensor& a, double b);
/// The quotient of integers, rounded down, and what it leaves: Python's // and %.
Tensor floor_divide(const Tensor& a, std::int64_t b);
Tensor remainder(const Tensor& a, std::int64_t b);
/// Tensor.float() for references: fp32, but fp64 stays, so that golden values lose nothing.
inline Tensor as_float(const Tensor& a) { return a.dtype() == DType::f64 ? a : a.to(DType::f32); }

Tensor exp(const Tensor& a);
Tensor log(const Tensor& a);
Tensor sqrt(const Tensor& a);
Tensor rsqrt(const Tensor& a);  ///< 1 / sqrt(a)
Tensor pow(const Tensor& a, double exponent);
Tensor square(const Tensor& a);
Tensor floor(const Tensor& a);
Tensor ceil(const Tensor& a);
Tensor round(const Tensor& a);  ///< halves to even
Tensor sigmoid(const Tensor& a);
Tensor silu(const Tensor& a);  ///< a * sigmoid(a) (torch.nn.functional.silu)
Tensor relu(const Tensor& a);
Tensor softplus(const Tensor& a);    ///< log(1 + exp(a)); a itself beyond 20 (torch.nn.functional.softplus)
Tensor logsigmoid(const Tensor& a);  ///< min(a, 0) - log1p(exp(-|a|))
/// min(max(a, low), high); NaN stays. Any numeric dtype.
Tensor clamp(const Tensor& a, double low, double high);

// Comparisons give masks; any numeric dtype.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor eq(const Tensor& a, double b);
Tensor ne(const Tensor& a, double b);
Tensor lt(const Tensor& a, double b);
Tensor le(const Tensor& a, double b);
Tensor gt(const Tensor& a, double b);
Tensor ge(const Tensor& a, double b);
Tensor logical_and(const Tensor& a, const Tensor& b);  ///< of masks
Tensor logical_or(const Tensor& a, const Tensor& b);   ///< of masks
Tensor logical_not(const Tensor& a);                   ///< of a mask

/// a where the mask is not 0, else b (torch.where).
Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b);
/// value where the mask is not 0, else a (Tensor.masked_fill).
Tensor masked_fill(const Tensor& a, const Tensor& mask, double value);

}  // namespace pkb::ref
