// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/series.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace pkb::timing {
namespace {

constexpr std::size_t kResamples = 1000;

/// `statistic` of resampled indices, many times; the middle 95 %.
template <class Statistic>
Interval bootstrap(std::size_t samples, std::uint64_t seed, Statistic statistic) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::size_t> any(0, samples - 1);
  std::vector<std::size_t> drawn(samples);
  std::vector<double> values(kResamples);
  for (double& value : values) {
    for (std::size_t& index : drawn) index = any(random);
    value = statistic(drawn);
  }
  std::ranges::sort(values);
  constexpr auto kTail = kResamples / 40;
  return {.low = values[kTail], .high = values[kResamples - 1 - kTail]};
}

double median_of(std::span<const double> samples, const std::vector<std::size_t>& indices) {
  std::vector<double> chosen;
  chosen.reserve(indices.size());
  for (const std::size_t index : indices) chosen.push_back(samples[index]);
  return median(std::move(chosen));
}

}  // namespace

double median(std::vector<double> samples) {
  if (samples.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::ranges::nth_element(samples, middle);
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

Interval median_interval(std::span<const double> samples, std::uint64_t seed) {
  return bootstrap(samples.size(), seed,
                   [&](const std::vector<std::size_t>& drawn) { return median_of(samples, drawn); });
}

Interval ratio_interval(std::span<const double> numerators, std::span<const double> denominators,
                        std::uint64_t seed) {
  return bootstrap(numerators.size(), seed, [&](const std::vector<std::size_t>& drawn) {
    return median_of(numerators, drawn) / median_of(denominators, drawn);
  });
}

bool is_drifting(std::span<const double> samples, std::size_t window, double tolerance) {
  if (samples.size() < 2 * window) return true;
  const auto last = samples.last(window), before = samples.last(2 * window).first(window);
  const double now = median({last.begin(), last.end()}), then = median({before.begin(), before.end()});
  return std::abs(now - then) > tolerance * then;
}

bool is_bimodal(std::vector<double> samples) {
  const std::size_t least = std::max<std::size_t>(samples.size() / 5, 2);
  if (samples.size() < 2 * least) return false;
  std::ranges::sort(samples);
  std::size_t split = least;
  for (std::size_t i = least; i <= samples.size() - least; ++i)
    if (samples[i] - samples[i - 1] > samples[split] - samples[split - 1]) split = i;
  const double gap = samples[split] - samples[split - 1];
  // The outermost tenths of each group are outliers' home.
  const auto width = [&](std::size_t from, std::size_t to) {
    const std::size_t tenth = (to - from) / 10;
    return samples[to - 1 - tenth] - samples[from + tenth];
  };
  return gap > 0.03 * median(samples) && gap > width(0, split) && gap > width(split, samples.size());
}

}  // namespace pkb::timing
