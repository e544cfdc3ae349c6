// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/convolution.h"

/// Convolutions of every kind, summed term by term in fp64.
namespace pkb::ref::testing {

struct DirectConvolution {
  Shape x, weight;
  ConvolutionOptions options{};
};

inline const std::vector<DirectConvolution> kDirectConvolutions{
    {{2, 6, 11}, {4, 3, 3}, {.stride = {2}, .padding = {1}, .groups = 2}},
    {{1, 2, 13}, {3, 2, 2}, {.stride = {3}}},
    {{2, 5, 6, 7}, {7, 5, 3, 4}, {.padding = {0, 2}}},
    {{1, 3, 9, 8}, {4, 3, 2, 3}, {.stride = {2, 2}, .padding = {1, 1}}},
    {{1, 2, 7, 9}, {3, 2, 3, 5}, {.stride = {3, 2}, .padding = {2, 1}}},
    {{2, 4, 3, 5}, {3, 4, 1, 1}, {.padding = {1, 1}}},
    {{1, 64, 6, 16}, {48, 64, 3, 3}, {.padding = {1, 1}}},
    {{2, 4, 4, 5, 6}, {6, 2, 3, 2, 3}, {.stride = {1, 2, 1}, .padding = {1, 0, 1}, .groups = 2}},
};

/// Row-major sums and a bias per channel, of operands on the host.
inline std::vector<double> direct_convolution(const DirectConvolution& problem, const Tensor& x,
                                              const Tensor& weight, const Tensor& bias) {
  const auto [image, kernel, options] = problem;
  const std::size_t spatial = image.size() - 2;
  const auto of = [&](const std::vector<std::int64_t>& values, std::size_t d, std::int64_t otherwise) {
    return values.empty() ? otherwise : values[d];
  };
  Shape shape{image[0], kernel[0]};
  for (std::size_t d = 0; d < spatial; ++d)
    shape.push_back(
        (image[2 + d] + 2 * of(options.padding, d, 0) - kernel[2 + d]) / of(options.stride, d, 1) + 1);
  const std::vector<double> pixels = x.values(), weights = weight.values(), biases = bias.values();
  const std::int64_t window = weight.numel() / kernel[0], results = kernel[0] / options.groups;
  std::vector<double> out;
  Shape at(shape.size());
  for (std::int64_t i = 0; i < numel(shape); ++i) {
    for (std::int64_t d = std::int64_t(shape.size()) - 1, rest = i; d >= 0; rest /= shape[std::size_t(d--)])
      at[std::size_t(d)] = rest % shape[std::size_t(d)];
    double sum = biases[std::size_t(at[1])];
    for (std::int64_t w = 0; w < window; ++w) {
      // From the back: the place in the kernel, then the channel of this group.
      std::int64_t rest = w, pixel = 0, scale = 1;
      bool inside = true;
      for (std::size_t d = spatial; d-- > 0; rest /= kernel[2 + d], scale *= image[2 + d]) {
        const std::int64_t place =
            at[2 + d] * of(options.stride, d, 1) + rest % kernel[2 + d] - of(options.padding, d, 0);
        inside = inside && place >= 0 && place < image[2 + d];
        pixel += place * scale;
      }
      const std::int64_t channel = at[1] / results * kernel[1] + rest;
      if (inside)
        sum += pixels[std::size_t(pixel + (at[0] * image[1] + channel) * scale)] *
               weights[std::size_t(at[1] * window + w)];
    }
    out.push_back(sum);
  }
  return out;
}

}  // namespace pkb::ref::testing
