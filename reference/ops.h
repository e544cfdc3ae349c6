// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/reduce_options.h"
#include "reference/tensor.h"

/// Operators with PyTorch's names and conventions. Elementwise ones broadcast, want one dtype and place,
/// compute in fp32 for bf16 and fp16 and round once; a scalar takes part in the compute type, as in PyTorch.
namespace pkb::ref {

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);  ///< floating dtypes
Tensor operator+(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
inline Tensor operator+(double a, const Tensor& b) { return b + a; }
inline Tensor operator*(double a, const Tensor& b) { return b * a; }
inline Tensor operator-(const Tensor& a, double b) { return a + -b; }
Tensor operator-(const Tensor& a);
Tensor abs(const Tensor& a);
Tensor maximum(const Tensor& a, const Tensor& b);  ///< NaN if either is
Tensor minimum(const Tensor& a, const Tensor& b);  ///< NaN if either is

/// Integers are summed in int64 (torch.sum).
Tensor sum(const Tensor& a, const ReduceOptions& options = {});
Tensor mean(const Tensor& a, const ReduceOptions& options = {});  ///< floating dtypes
Tensor amax(const Tensor& a, const ReduceOptions& options = {});  ///< NaN if one is; no empty extents
Tensor amin(const Tensor& a, const ReduceOptions& options = {});

/// The matrix product (torch.matmul): (M, K) x (K, N), with leading batch dimensions that broadcast; 1-d
/// operands are a row on the left, a column on the right. bf16 and fp16 accumulate in fp32 and round once,
/// fp32 is true fp32 (no TF32), fp64 is fp64. Transposed views are read in place.
Tensor matmul(const Tensor& a, const Tensor& b);
/// x * weight^T + bias: x (..., I), weight (O, I), bias (O) or without elements: none
/// (torch.nn.functional.linear). The bias is added before the one rounding.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

}  // namespace pkb::ref
