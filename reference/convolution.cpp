// SPDX-License-Identifier: Apache-2.0
#include "reference/convolution.h"

#include "reference/indexing.h"
#include "reference/ops.h"

namespace pkb::ref {
namespace {

std::int64_t at(const std::vector<std::int64_t>& of, int dimension, std::int64_t otherwise) {
  return of.empty() ? otherwise : of[std::size_t(dimension)];
}

/// One group: (B, C, spatial...) -> (B, out spatial..., Co).
Tensor grouped(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  Tensor windows = x;
  for (int d = 0; d < spatial; ++d) windows = windows.unfold(2 + d, weight.size(2 + d), at(options.stride, d, 1));
  // (B, C, out..., kernel...) -> (B, out..., C, kernel...)
  std::vector<int> order{0};
  for (int d = 0; d < spatial; ++d) order.push_back(2 + d);
  order.push_back(1);
  for (int d = 0; d < spatial; ++d) order.push_back(2 + spatial + d);
  windows = windows.permute(order);
  Shape shape(windows.shape().begin(), windows.shape().begin() + 1 + spatial);
  shape.push_back(weight.numel() / weight.size(0));
  return linear(windows.reshape(std::move(shape)), weight.reshape({weight.size(0), -1}), bias);
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  const std::int64_t groups = options.groups;
  require(spatial >= 1 && weight.dim() == x.dim() && groups >= 1 && x.size(1) == groups * weight.size(1) &&
              weight.size(0) % groups == 0,
          "convolution: {} with a weight of {} in {} groups", x.shape(), weight.shape(), groups);
  for (const auto* each : {&options.stride, &options.padding})
    require(each->empty() || static_cast<int>(each->size()) == spatial, "convolution: options {} for {}", *each,
            x.shape());
  Tensor padded = x;
  for (int d = 0; d < spatial; ++d)
    if (const std::int64_t zeros = at(options.padding, d, 0); zeros > 0) padded = pad(padded, 2 + d, zeros, zeros);
  const std::int64_t channels = weight.size(1), results = weight.size(0) / groups;
  std::vector<Tensor> out;
  for (std::int64_t g = 0; g < groups; ++g)
    out.push_back(grouped(padded.narrow(1, g * channels, channels), weight.narrow(0, g * results, results),
                          bias.numel() > 0 ? bias.narrow(0, g * results, results) : bias, options));
  const Tensor all = groups == 1 ? out[0] : cat(out, -1);
  return all.unsqueeze(1).transpose(1, -1).squeeze(-1).contiguous();
}

}  // namespace pkb::ref
