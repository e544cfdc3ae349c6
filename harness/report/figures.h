// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "harness/report/report.h"
#include "harness/report/statistics.h"

namespace pkb::report {

/// Whether `a` is the better evaluation: a later verdict in their order, then more speedup.
bool is_better(const Evaluation& a, const Evaluation& b);

/// What a submitter has on a board: evaluations that count, by problem, sample and attempt.
class Entries {
 public:
  /// `evaluations` are indices into report.evaluations, in their order, some or all of a submitter's;
  /// `samples` is the least number of samples of each problem.
  Entries(const Report& report, const std::vector<Index>& evaluations, int samples);

  int samples() const { return x_samples; }
  int most_attempts() const { return x_most_attempts; }
  std::vector<Cell> cells() const;
  /// As if there had been no attempts after `last_attempt`. Without `timed` nothing is known of speed.
  struct Of {
    int last_attempt = 0;
    bool timed = false;
    std::string_view family{};  ///< empty: all problems
  };
  Figures figures(const Resampling& resampling, Of of) const;
  /// fast_p of all attempts.
  std::vector<double> curve(std::span<const double> thresholds) const;

 private:
  struct Entry {
    Index evaluation = kNoIndex;
    std::size_t sample = 0;  ///< among these evaluations
  };
  struct Sample {
    bool evaluated = false, correct = false;
    Index best = kNoIndex;
    double speedup = kNone;  ///< the largest of correct attempts
  };
  /// [problem]: its samples.
  std::vector<std::vector<Sample>> outcomes(int last_attempt) const;
  bool is_of(std::string_view family, std::size_t problem) const;
  std::vector<double> shares(const std::vector<std::vector<Sample>>& outcomes, double threshold,
                             std::string_view family) const;

  const Report& x_report;
  std::vector<Entry> x_entries;
  int x_samples = 0, x_most_attempts = 0;
};

/// A stratum for each problem of the benchmark: families, and one for those that this tree does not have. The
/// first report.problems.size() are those.
std::vector<int> strata(const Report& report);

}  // namespace pkb::report
