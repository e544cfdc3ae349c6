// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/tensor.h"

namespace pkb::ref {

struct ConvolutionOptions {
  /// Per spatial dimension; empty: 1 and 0 everywhere.
  std::vector<std::int64_t> stride{}, padding{};
  std::int64_t groups = 1;
};

/// torch.nn.functional.conv1d, conv2d and conv3d: x (B, Ci, spatial...), weight (Co, Ci / groups, kernel...),
/// bias (Co) or without elements: none. Cross-correlation, zeros outside; a matrix product over unfolded
/// windows, rounded once, to which the bias is added as cuDNN's callers do. Throws ShapeError.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvolutionOptions& options = {});

}  // namespace pkb::ref
