// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "harness/report/report.h"

/// The arithmetic of a row. Undefined is kNone, never 0.
namespace pkb::report {

/// 1 - C(n - c, k) / C(n, k): the chance that k samples, drawn without replacement from n of which c succeed,
/// hold a success (Chen et al., "Evaluating large language models trained on code", 2021). kNone unless 1 <=
/// k <= n.
double pass_at(int n, int c, int k);

/// 95 % intervals over problems: a percentile bootstrap that draws, again and again, as many problems as
/// there are, with replacement and within each stratum. Samples are not redrawn: with replacement that would
/// be biased at k = n. A problem that is alone in its stratum shares one with the others that are.
class Resampling {
 public:
  static constexpr int kResamples = 2000;
  static constexpr std::uint64_t kSeed = 87;

  /// `strata[i]` is any number that says which problems are drawn for each other.
  explicit Resampling(std::span<const int> strata, std::uint64_t seed = kSeed);

  // `values[i]` is of problem i. kNone: the problem does not take part, and a resample without one that does
  // is left out. An interval takes two problems that do.
  Estimate mean(std::span<const double> values) const;
  Estimate median(std::span<const double> values) const;
  /// exp of the mean of logarithms.
  Estimate geometric_mean(std::span<const double> values) const;

 private:
  /// How often each resample has a problem.
  std::span<const std::uint16_t> weights(std::size_t problem) const;

  std::vector<std::uint16_t> x_weights;  ///< problem by problem
};

/// The geometric mean of all `values` but one, which are the largest and the smallest. kNone for fewer than
/// two.
struct LeaveOneOut {
  double without_largest = kNone, without_smallest = kNone;
};
LeaveOneOut leave_one_out(std::span<const double> values);

}  // namespace pkb::report
