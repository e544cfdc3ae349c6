// SPDX-License-Identifier: Apache-2.0
#include "harness/check/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/check/number.h"

namespace pkb::check {
namespace {

constexpr double kAmongFormats = 90.5;  // 2^6.5

bool as_wide_as_sums(DType dtype) { return format_of(dtype).precision >= format_of(DType::f32).precision; }

/// How many elements of equal weight would vary as much.
double independent_elements(const Accuracy& accuracy) {
  if (accuracy.rounding_fourth == 0) return static_cast<double>(accuracy.count);
  return accuracy.rounding * accuracy.rounding / accuracy.rounding_fourth;
}

}  // namespace

void Accuracy::add(DType dtype, double golden, double from_baseline, double from_candidate) {
  const auto squared = [](double x) { return x * x; };
  const double one_rounding =
      golden == 0 ? 0 : squared(spacing(dtype, golden)) / 12;  // uniform within a half
  candidate += squared(from_candidate - golden);
  baseline += squared(from_baseline - golden);
  rounding += one_rounding;
  rounding_fourth += squared(one_rounding);
  ++count;
}

void Accuracy::add(const Accuracy& of_others) {
  candidate += of_others.candidate;
  baseline += of_others.baseline;
  rounding += of_others.rounding;
  rounding_fourth += of_others.rounding_fourth;
  count += of_others.count;
}

std::optional<std::string> audit(const problem::Check& check, DType dtype, const Accuracy& accuracy) {
  if (check.kind != problem::Check::Kind::floating || accuracy.count == 0) return std::nullopt;
  const double elements = independent_elements(accuracy);
  if (elements < 2) return std::nullopt;  // one error is no statistic: the element's bound judges it
  const double chance = 1 + 4 / std::sqrt(elements) + 8 / elements;  // the second for the tails of a few
  const double factor =
      chance * (as_wide_as_sums(dtype) ? std::max(check.rms_factor, kAmongFormats) : check.rms_factor);
  const double yardstick = std::max(accuracy.baseline, accuracy.rounding);
  if (accuracy.candidate <= factor * factor * yardstick) return std::nullopt;
  const auto rms = [&](double sum) { return std::sqrt(sum / static_cast<double>(accuracy.count)); };
  return fmt::format(
      "{}: every element is within its bound, but the RMS error over all ranks is {:.3g}, more than {:.3g} "
      "times "
      "the {:.3g} of {}: precision was lost",
      check.output, rms(accuracy.candidate), factor, rms(yardstick),
      accuracy.baseline >= accuracy.rounding ? "the baseline" : "one rounding");
}

}  // namespace pkb::check
