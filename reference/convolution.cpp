// SPDX-License-Identifier: Apache-2.0
#include "reference/convolution.h"

#include "reference/indexing.h"
#include "reference/ops.h"

namespace pkb::ref {
namespace {

std::int64_t at(const std::vector<std::int64_t>& of, int dimension, std::int64_t otherwise) {
  return of.empty() ? otherwise : of[std::size_t(dimension)];
}

/// One group: (B, C, spatial...) -> (B, Co, out spatial...). The product is in the result's layout already.
Tensor grouped(const Tensor& x, const Tensor& weight, const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  Tensor windows = x;
  for (int d = 0; d < spatial; ++d) windows = windows.unfold(2 + d, weight.size(2 + d), at(options.stride, d, 1));
  Shape shape = windows.shape();
  shape.resize(std::size_t(2 + spatial));
  shape[1] = weight.size(0);
  // (B, C, out..., kernel...) -> (B, C, kernel..., out...)
  std::vector<int> order{0, 1};
  for (int d = 0; d < spatial; ++d) order.push_back(2 + spatial + d);
  for (int d = 0; d < spatial; ++d) order.push_back(2 + d);
  const std::int64_t window = weight.numel() / weight.size(0);
  const std::int64_t places = numel({shape.begin() + 2, shape.end()});
  return matmul(weight.reshape({weight.size(0), window}), windows.permute(order).reshape({x.size(0), window, places}))
      .view(std::move(shape));
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
    out.push_back(grouped(padded.narrow(1, g * channels, channels), weight.narrow(0, g * results, results), options));
  const Tensor all = groups == 1 ? out[0] : cat(out, 1);
  if (bias.numel() == 0) return all;
  require(bias.shape() == Shape{weight.size(0)}, "convolution: a weight of {} with a bias of {}", weight.shape(),
          bias.shape());
  Shape column(std::size_t(1 + spatial), 1);
  column[0] = bias.size(0);
  return all + bias.view(std::move(column));
}

}  // namespace pkb::ref
