// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/problem/problem.h"
#include "reference/dtype.h"

/// The accuracy audit: results that lie within their bounds, but whose errors tell of a coarser format than
/// the run's, are refused, whatever the order of sums (DESIGN.md section 9).
namespace pkb::check {

/// Sums over elements, added over ranks before the audit.
struct Accuracy {
  double candidate = 0, baseline = 0;  ///< squared errors against golden
  double rounding = 0;         ///< squared errors that one rounding of the golden values is expected to make
  double rounding_fourth = 0;  ///< the squares of these
  std::int64_t count = 0;

  /// One element, all finite.
  void add(DType dtype, double golden, double from_baseline, double from_candidate);
  void add(const Accuracy& of_others);
};

/// A sentence when the candidate's RMS error exceeds what other orders of operations explain, else nothing.
///
/// The yardstick is the larger of the baseline's RMS error and that of one rounding. Allowed is
/// - `rms_factor` of it where the output is narrower than the fp32 of sums: its own roundings dominate then,
///   and the baseline makes as many as any order;
/// - 2^6.5 of it where the output is as wide as the sums: orders of n terms differ by up to about sqrt(n),
///   the next coarser format (TF32) by 2^13, and this is the middle;
/// - more where few elements carry the error, since an RMS over n varies by about 1 / sqrt(n); one is no
///   statistic, and its bound alone judges it.
std::optional<std::string> audit(const problem::Check& check, DType dtype, const Accuracy& accuracy);

}  // namespace pkb::check
