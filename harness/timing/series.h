// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// What can be said about a series of times.
namespace pkb::timing {

/// The middle one, or the mean of the two in the middle. NaN of nothing.
double median(std::vector<double> samples);

/// 95 % of what resampling gives: a percentile bootstrap (Efron and Tibshirani 1993, chapter 13).
struct Interval {
  double low = 0, high = 0;
  /// Its width over its middle.
  double relative_width() const { return (high - low) / ((high + low) / 2); }
};

/// Of the median.
Interval median_interval(std::span<const double> samples, std::uint64_t seed);

/// Of median(numerators) / median(denominators), measured in pairs that are resampled together.
Interval ratio_interval(std::span<const double> numerators, std::span<const double> denominators,
                        std::uint64_t seed);

/// Whether a series still gets slower or faster: the medians of its last two `window`s differ by more than
/// `tolerance`, as a fraction. True while there are not two windows.
bool is_drifting(std::span<const double> samples, std::size_t window, double tolerance);

/// Whether the samples fall into two groups, each at least a fifth of them, with an empty gap between that is wider than
/// 3 % of the median and than either group.
bool is_bimodal(std::vector<double> samples);

}  // namespace pkb::timing
