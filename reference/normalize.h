// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "reference/tensor.h"

/// Functions of whole rows with PyTorch's names, one kernel each. Floating dtypes, any shape, along `dimension`
/// or the last one; fp32 inside for bf16 and fp16 and fp32, fp64 for fp64; the result is rounded once to the
/// dtype of the input. Throw ShapeError.
namespace pkb::ref {

/// exp(a - max) / sum(exp(a - max)). A row of -inf alone gives NaN, as in PyTorch.
Tensor softmax(const Tensor& a, int dimension = -1);
/// a - max - log(sum(exp(a - max))).
Tensor log_softmax(const Tensor& a, int dimension = -1);
/// log(sum(exp(a))), without the dimension. A row of -inf alone gives -inf.
Tensor logsumexp(const Tensor& a, int dimension = -1);
/// a / sqrt(mean(a^2) + eps) * weight; no weight: a tensor without elements (torch.nn.functional.rms_norm).
Tensor rms_norm(const Tensor& a, const Tensor& weight, double eps);
/// (a - mean) / sqrt(variance + eps) * weight + bias, with the biased variance; without elements: none
/// (torch.nn.functional.layer_norm).
Tensor layer_norm(const Tensor& a, const Tensor& weight, const Tensor& bias, double eps);

}  // namespace pkb::ref
