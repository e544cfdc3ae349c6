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
/// bias (Co) or without elements: none. Cross-correlation, zeros outside; a matrix product over windows: sums of
/// bf16 and fp16 in fp32, the bias among them, rounded once. Of the kernel's dimensions all but the last are written
/// out in memory. Throws ShapeError.
Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvolutionOptions& options = {});

}  // namespace pkb::ref
