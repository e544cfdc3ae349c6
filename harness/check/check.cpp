// SPDX-License-Identifier: Apache-2.0
#include "harness/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "harness/check/number.h"
#include "reference/parallel.h"

namespace pkb::check {
namespace {

/// Whether a candidate's number is acceptable where the golden value is `golden` and errors up to `bound`
/// are. A result beyond the dtype's range may be infinite or, within the bound, still finite.
bool within(double got, double golden, double bound, double largest_finite) {
  if (std::isnan(golden) || std::isnan(got)) return std::isnan(golden) && std::isnan(got);
  if (std::isinf(golden)) return got == golden;
  if (std::isinf(got))
    return std::signbit(got) == std::signbit(golden) && std::fabs(golden) + bound > largest_finite;
  return std::fabs(got - golden) <= bound;
}

std::string position(std::int64_t index, std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> coordinates(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    coordinates[d] = index % shape[d];
    index /= shape[d];
  }
  return fmt::format("[{}]", fmt::join(coordinates, ", "));
}

/// NaN without the sign that some machines print.
std::string number(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

void require(bool condition, std::string_view name, const char* what) {
  if (!condition) throw std::invalid_argument(fmt::format("check of {}: {}", name, what));
}

bool still_poison(const Output& output, std::int64_t index) {
  const auto element =
      output.got.subspan(static_cast<std::size_t>(index) * size_of(output.dtype), size_of(output.dtype));
  return std::ranges::all_of(element, [&](std::byte b) { return b == output.poison; });
}

/// Poison is a NaN: where NaN is right, it must be one that somebody wrote.
bool unwritten_nan(const Output& output, std::int64_t index) {
  if (!still_poison(output, index)) return false;
  const std::size_t bytes = size_of(output.dtype), at = static_cast<std::size_t>(index) * bytes;
  return std::memcmp(output.got.data() + at, output.baseline.data() + at, bytes) != 0;
}

void note_mismatch(Result& result, const Output& output, std::int64_t index, double got, double golden,
                   double bound) {
  if (result.mismatches++ == 0) {
    result.first = index;
    result.got = got;
    result.golden = golden;
    result.bound = bound;
  }
  if (still_poison(output, index)) ++result.unwritten;
}

void compare_bits(const Output& output, Result& result) {
  require(output.baseline.size() == output.got.size(), output.name, "the baseline has another size");
  const std::size_t bytes = size_of(output.dtype);
  if (std::memcmp(output.got.data(), output.baseline.data(), output.got.size()) == 0) return;
  for (std::int64_t i = 0; i < result.count; ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * bytes;
    if (std::memcmp(output.got.data() + at, output.baseline.data() + at, bytes) == 0) continue;
    note_mismatch(result, output, i, number_at(output.dtype, output.got.data(), i),
                  number_at(output.dtype, output.baseline.data(), i), 0);
  }
}

/// The multisets of rows: a row of the candidate's that the reference has not, or has less often, is wrong.
void compare_rows(const Output& output, Result& result) {
  require(output.baseline.size() == output.got.size(), output.name, "the baseline has another size");
  if (result.count == 0) return;
  const auto rows = output.shape.empty() ? std::int64_t{1} : output.shape[0];
  const std::size_t bytes = output.got.size() / static_cast<std::size_t>(rows);
  const auto row = [&](std::span<const std::byte> all, std::int64_t index) {
    return all.data() + static_cast<std::size_t>(index) * bytes;
  };
  const auto sorted = [&](std::span<const std::byte> all) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return std::memcmp(row(all, a), row(all, b), bytes) < 0;
    });
    return order;
  };
  const std::vector<std::int64_t> got = sorted(output.got), expected = sorted(output.baseline);
  std::vector<std::int64_t> wrong;
  std::size_t e = 0;
  for (const std::int64_t each : got) {
    int order = -1;
    while (e < expected.size() &&
           (order = std::memcmp(row(output.baseline, expected[e]), row(output.got, each), bytes)) < 0)
      ++e;
    if (e < expected.size() && order == 0)
      ++e;
    else
      wrong.push_back(each);
  }
  std::ranges::sort(wrong);
  const std::int64_t width = result.count / rows;
  for (const std::int64_t each : wrong)
    for (std::int64_t i = each * width; i < (each + 1) * width; ++i)
      note_mismatch(result, output, i, number_at(output.dtype, output.got.data(), i),
                    number_at(output.dtype, output.baseline.data(), i), 0);
}

void compare_by_problem(const Output& output, Result& result) {
  require(output.bound.size() == static_cast<std::size_t>(result.count), output.name,
          "the problem judges another count");
  for (std::int64_t i = 0; i < result.count; ++i) {
    const double ratio = output.bound[static_cast<std::size_t>(i)];
    if (ratio <= 1) {
      result.worst = std::max(result.worst, ratio);
      continue;
    }
    note_mismatch(result, output, i, number_at(output.dtype, output.got.data(), i),
                  output.golden.empty() ? number_at(output.dtype, output.baseline.data(), i)
                                        : output.golden[static_cast<std::size_t>(i)],
                  0);
  }
}

/// Elements [begin, end).
Result compare_range(const problem::Check& check, const Output& output, std::int64_t begin, std::int64_t end) {
  Result result;
  const bool exact = check.exact_on_integers && output.integers;
  const double top = largest(output.dtype);
  for (std::int64_t index = begin; index < end; ++index) {
    const auto i = static_cast<std::size_t>(index);
    const double golden = output.golden[i];
    const double got = number_at(output.dtype, output.got.data(), index);
    const double bound = exact               ? 0
                         : check.model_bound ? output.bound[i]
                                             : check.atol + check.rtol * std::fabs(golden);
    if (!within(got, golden, bound, top) || (std::isnan(got) && unwritten_nan(output, index)))
      note_mismatch(result, output, index, got, golden, bound);
    if (!std::isfinite(golden) || !std::isfinite(got)) continue;

    const double error = std::fabs(got - golden);
    const double ratio = error == 0 ? 0 : error / bound;
    if (ratio > result.worst) {
      result.worst = ratio;
      if (result.mismatches == 0) {
        result.got = got;
        result.golden = golden;
        result.bound = bound;
      }
    }
    const double baseline = number_at(output.dtype, output.baseline.data(), index);
    if (std::isfinite(baseline)) result.accuracy.add(output.dtype, golden, baseline, got);
  }
  return result;
}

/// Adds what the next elements came to.
void append(Result& result, const Result& next) {
  const bool says_more = result.mismatches == 0 && (next.mismatches > 0 || next.worst > result.worst);
  if (says_more) {
    result.first = next.first;
    result.got = next.got;
    result.golden = next.golden;
    result.bound = next.bound;
  }
  result.worst = std::max(result.worst, next.worst);
  result.mismatches += next.mismatches;
  result.unwritten += next.unwritten;
  result.accuracy.add(next.accuracy);
}

void compare_numbers(const problem::Check& check, const Output& output, Result& result) {
  const auto count = static_cast<std::size_t>(result.count);
  require(output.golden.size() == count, output.name, "the golden values have another count");
  require(!check.model_bound || output.bound.size() == count, output.name,
          "the error model has another count");
  require(output.baseline.size() == output.got.size(), output.name, "the baseline has another size");
  // Pieces of a fixed size, so that sums do not depend on the number of threads.
  constexpr std::int64_t kPiece = 1 << 18;
  std::vector<Result> pieces(static_cast<std::size_t>((result.count + kPiece - 1) / kPiece));
  ref::parallel_for(std::ssize(pieces), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t p = begin; p < end; ++p)
      pieces[static_cast<std::size_t>(p)] =
          compare_range(check, output, p * kPiece, std::min(result.count, (p + 1) * kPiece));
  });
  for (const Result& piece : pieces) append(result, piece);
}

}  // namespace

Result compare(const problem::Check& check, const Output& output) {
  Result result;
  result.count = 1;
  for (const std::int64_t extent : output.shape) result.count *= extent;
  require(output.got.size() == static_cast<std::size_t>(result.count) * size_of(output.dtype), output.name,
          "the output has another size than its shape");
  switch (check.kind) {
    case problem::Check::Kind::exact:
      compare_bits(output, result);
      break;
    case problem::Check::Kind::floating:
      compare_numbers(check, output, result);
      break;
    case problem::Check::Kind::rows:
      compare_rows(output, result);
      break;
    case problem::Check::Kind::custom:
      compare_by_problem(output, result);
      break;
  }
  if (result.passes()) return result;
  result.text = fmt::format("{}: {} of {} elements {}, first {}: got {}, golden {}", output.name,
                            result.mismatches, result.count, result.bound > 0 ? "out of bounds" : "differ",
                            position(result.first, output.shape), number(result.got), number(result.golden));
  if (result.bound > 0) result.text += fmt::format(", bound {:.3g}", result.bound);
  if (result.unwritten > 0) result.text += fmt::format("; {} of them were never written", result.unwritten);
  return result;
}

std::optional<std::int64_t> first_change(std::span<const std::byte> before, std::span<const std::byte> now,
                                         DType dtype) {
  if (before.size() != now.size()) throw std::invalid_argument("first_change: the sizes differ");
  if (now.empty() || std::memcmp(before.data(), now.data(), now.size()) == 0) return std::nullopt;
  const auto [left, right] = std::ranges::mismatch(before, now);
  return (left - before.begin()) / static_cast<std::int64_t>(size_of(dtype));
}

}  // namespace pkb::check
