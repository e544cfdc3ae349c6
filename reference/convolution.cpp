// SPDX-License-Identifier: Apache-2.0
#include "reference/convolution.h"

#include "reference/ops.h"

namespace pkb::ref {
namespace {

std::int64_t at(const std::vector<std::int64_t>& of, int dimension, std::int64_t otherwise) {
  return of.empty() ? otherwise : of[std::size_t(dimension)];
}

/// One group: (B, C, spatial...) -> (B, spatial..., C) between zeros, the last dimension up to whole steps.
Tensor channels_last(const Tensor& x, const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  std::vector<int> order{0};
  for (int d = 0; d < spatial; ++d) order.push_back(2 + d);
  order.push_back(1);
  const Tensor image = x.permute(order);
  Shape shape = image.shape();
  for (int d = 0; d < spatial; ++d) shape[std::size_t(1 + d)] += 2 * at(options.padding, d, 0);
  const std::int64_t step = at(options.stride, spatial - 1, 1);
  shape[std::size_t(spatial)] = (shape[std::size_t(spatial)] + step - 1) / step * step;
  if (shape == image.shape()) return image.contiguous();
  Tensor padded = Tensor::zeros(std::move(shape), x.dtype(), x.place()), inner = padded;
  for (int d = 0; d < spatial; ++d) inner = inner.narrow(1 + d, at(options.padding, d, 0), x.size(2 + d));
  inner.copy_(image);
  return padded;
}

/// (positions, window) of all positions of one group's kernel: views of memory that has a column of the
/// kernel's windows for every place along the last dimension, so that the windows of neighbours share their
/// columns. The elements of a window are ordered as those of `flattened`. A few positions may follow that are
/// none: the product takes rows that overlap in turns, all of one length.
Tensor windows(const Tensor& x, const Tensor& weight, const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  // (B, out..., last, C, kernel...) -> (B, out..., last, kernel..., C)
  Tensor columns = channels_last(x, options);
  for (int d = 0; d + 1 < spatial; ++d)
    columns = columns.unfold(1 + d, weight.size(2 + d), at(options.stride, d, 1));
  std::vector<int> order;
  for (int d = 0; d < columns.dim(); ++d)
    if (d != spatial + 1) order.push_back(d);
  order.push_back(spatial + 1);
  columns = columns.permute(order);

  const std::int64_t step = at(options.stride, spatial - 1, 1), window = weight.numel() / weight.size(0);
  const std::int64_t column = window / weight.size(-1), positions = columns.numel() / (step * column);
  const std::int64_t turns = (weight.size(-1) + step - 1) / step,
                     rows = (positions + turns - 1) / turns * turns;
  // The last windows reach beyond the image; what they give is cut off.
  const Tensor memory = Tensor::empty({rows * step * column + window}, x.dtype(), x.place());
  memory.narrow(0, 0, columns.numel()).view(columns.shape()).copy_(columns);
  memory.narrow(0, columns.numel(), memory.numel() - columns.numel()).fill_(0);
  return memory.unfold(0, window, step * column).narrow(0, 0, rows);
}

/// (Co, C, kernel...) -> (Co, last of the kernel * others of the kernel * C)
Tensor flattened(const Tensor& weight) {
  std::vector<int> order{0, weight.dim() - 1};
  for (int d = 2; d + 1 < weight.dim(); ++d) order.push_back(d);
  order.push_back(1);
  return weight.permute(order).reshape({weight.size(0), -1});
}

}  // namespace

Tensor convolution(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvolutionOptions& options) {
  const int spatial = x.dim() - 2;
  const std::int64_t groups = options.groups;
  require(spatial >= 1 && weight.dim() == x.dim() && weight.numel() > 0 && groups >= 1 &&
              x.size(1) == groups * weight.size(1) && weight.size(0) % groups == 0,
          "convolution: {} with a weight of {} in {} groups", x.shape(), weight.shape(), groups);
  require(bias.numel() == 0 || bias.shape() == Shape{weight.size(0)},
          "convolution: a weight of {} with a bias of {}", weight.shape(), bias.shape());
  for (const auto* each : {&options.stride, &options.padding})
    require(each->empty() || static_cast<int>(each->size()) == spatial, "convolution: options {} for {}",
            *each, x.shape());
  Shape shape{x.size(0), weight.size(0)};
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t rest = x.size(2 + d) + 2 * at(options.padding, d, 0) - weight.size(2 + d);
    require(rest >= 0, "convolution: {} is smaller than a kernel of {}", x.shape(), weight.shape());
    shape.push_back(rest / at(options.stride, d, 1) + 1);
  }
  if (x.size(0) == 0) return Tensor::empty(std::move(shape), x.dtype(), x.place());

  // Positions as the windows have them: (B, out..., last), then channels.
  Shape positions{shape.begin(), shape.end()};
  positions.erase(positions.begin() + 1);
  const std::int64_t step = at(options.stride, spatial - 1, 1);
  positions.back() = (x.size(-1) + 2 * at(options.padding, spatial - 1, 0) + step - 1) / step;
  const std::int64_t count = numel(positions);
  positions.push_back(weight.size(0) / groups);
  std::vector<int> order{0, spatial + 1};
  for (int d = 0; d < spatial; ++d) order.push_back(1 + d);
  const std::int64_t channels = weight.size(1), results = weight.size(0) / groups;
  std::vector<Tensor> out;
  for (std::int64_t g = 0; g < groups; ++g) {
    const Tensor kernel = weight.narrow(0, g * results, results);
    out.push_back(linear(windows(x.narrow(1, g * channels, channels), kernel, options), flattened(kernel),
                         bias.numel() == 0 ? bias : bias.narrow(0, g * results, results))
                      .narrow(0, 0, count)
                      .view(positions)
                      .narrow(spatial, 0, shape.back())
                      .permute(order));
  }
  return groups == 1 ? out[0].contiguous() : cat(out, 1);
}

}  // namespace pkb::ref
