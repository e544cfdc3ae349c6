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
/// windows, whose sums are rounded once, bias included. Throws ShapeError.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvolutionOptions& options = {});

}  // namespace pkb::ref
