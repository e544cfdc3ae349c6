// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "harness/check/number.h"
#include "harness/diagnosis/diagnosis.h"

namespace pkb::diagnosis {
namespace {

constexpr std::string_view kClassNames[] = {
    "unwritten",
    "stale",
    "not_reduced",
    "contribution_missing",
    "contribution_doubled",
    "permuted_blocks",
    "other_rank",
    "mixed_groups",
    "collective_skipped",
    "transposed",
    "shifted",
    "nan_spread",
    "coarse_rounding",
    "tail",
    "boundary",
    "unknown",
};
constexpr std::string_view kCategoryNames[] = {"collective ordering / synchronisation", "data partitioning",
                                               "numerics", "memory safety"};

constexpr double kEnough = 0.9;          // of the wrong elements
constexpr std::int64_t kFarthest = 256;  // shifts that are tried
constexpr std::int64_t kVectors[] = {256, 128, 64, 32, 16, 8, 4, 2};

constexpr std::int64_t kMostOfABlock = std::int64_t{1} << 20;  // elements that are compared

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

bool near(double got, double wanted, double bound) {
  if (std::isfinite(got) && std::isfinite(wanted)) return std::fabs(got - wanted) <= bound;
  return same(got, wanted);
}

class Explainer {
 public:
  explicit Explainer(const Evidence& evidence) : x(evidence) {}

  std::int64_t fits(const Hypothesis& each) const {
    std::int64_t fitting = 0;
    for (std::size_t k = 0; k < x.wrong.size(); ++k) fitting += fits(x.wrong[k], each.values[k]) ? 1 : 0;
    return fitting;
  }

  std::int64_t wrong() const { return static_cast<std::int64_t>(x.wrong.size()); }

  /// How many wrong elements hold `value(i)`, or nearly so and far nearer than the golden value.
  std::int64_t fits(const std::function<double(std::int64_t)>& value) const {
    return std::ranges::count_if(x.wrong, [&](std::int64_t i) { return fits(i, value(i)); });
  }

  Explanation explain(std::span<const Hypothesis> hypotheses) {
    if (x.wrong.empty()) return {};
    consider(Class::unwritten, "never written",
             std::ranges::count_if(x.wrong, [&](auto i) { return poisoned(i); }));
    for (const Hypothesis& each : hypotheses) consider(each.what, each.sentence, fits(each));
    if (!enough()) consider_blocks();
    if (!enough()) consider_transposed();
    if (!enough()) consider_shifts();
    if (!enough()) consider_values();
    if (!enough()) consider_places();
    if (!enough()) return {.what = Class::unknown, .sentence = "no known pattern"};
    return x_best;
  }

 private:
  static std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
  std::int64_t count() const { return static_cast<std::int64_t>(x.got.size()); }

  bool fits(std::int64_t i, double value) const {
    const double got = x.got[at(i)], golden = x.golden[at(i)], bound = x.bound[at(i)];
    if (same(got, value)) return true;
    if (bound == 0 || !std::isfinite(got) || !std::isfinite(value)) return false;
    return std::fabs(got - value) <= 2 * bound + 4 * check::spacing(x.dtype, value) &&
           !(std::fabs(got - value) > std::fabs(got - golden) / 2);
  }

  bool poisoned(std::int64_t i) const {
    const std::size_t bytes = size_of(x.dtype);
    return std::ranges::all_of(x.bytes.subspan(at(i) * bytes, bytes),
                               [&](std::byte b) { return b == x.poison; });
  }

  bool enough() const {
    return static_cast<double>(x_best.explained) >= kEnough * static_cast<double>(wrong());
  }

  /// The first of those that explain most.
  void consider(Class what, const std::string& sentence, std::int64_t explained) {
    if (explained > x_best.explained) x_best = {.what = what, .sentence = sentence, .explained = explained};
  }

  /// Blocks of the leading dimension, one for each rank: which block lies where?
  void consider_blocks() {
    const std::int64_t blocks = x.ranks;
    if (blocks < 2 || count() % blocks != 0) return;
    const std::int64_t size = count() / blocks, step = size / kMostOfABlock + 1;
    std::vector<std::int64_t> source;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const auto holds = [&](std::int64_t s) {
        std::int64_t fitting = 0;
        for (std::int64_t i = 0; i < size; i += step) {
          const double got = x.got[at(b * size + i)], value = x.golden[at(s * size + i)];
          const double bound = std::max(x.bound[at(b * size + i)], x.bound[at(s * size + i)]);
          fitting += near(got, value, bound) ? 1 : 0;
        }
        return static_cast<double>(fitting * step) >= kEnough * static_cast<double>(size);
      };
      std::int64_t found = -1;
      for (std::int64_t further = 0; further < blocks && found < 0; ++further)
        if (const std::int64_t s = (b + further) % blocks; holds(s)) found = s;
      if (found < 0) return;
      source.push_back(found);
    }
    consider(Class::permuted_blocks,
             fmt::format("the {} blocks hold those that belong to {}", blocks, fmt::join(source, ", ")),
             fits([&](std::int64_t i) { return x.golden[at(source[at(i / size)] * size + i % size)]; }));
  }

  void consider_transposed() {
    if (x.shape.size() < 2) return;
    const std::int64_t rows = x.shape[x.shape.size() - 2], columns = x.shape.back(), matrix = rows * columns;
    if (rows < 2 || columns < 2) return;
    consider(Class::transposed, "rows and columns are exchanged", fits([&](std::int64_t i) {
               const std::int64_t within = i % matrix;
               return x.golden[at(i - within + within % rows * columns + within / rows)];
             }));
  }

  void consider_shifts() {
    std::vector<std::int64_t> distances;
    for (std::int64_t n = 1; n <= kFarthest; ++n) distances.push_back(n);
    if (!x.shape.empty() && x.shape.back() > kFarthest) distances.push_back(x.shape.back());
    for (const std::int64_t n : distances)
      for (const std::int64_t by : {n, -n}) {
        if (n >= count()) continue;
        const auto moved = [&](std::int64_t i) {
          const std::int64_t from = i - by;
          return from >= 0 && from < count() ? x.golden[at(from)] : std::nan("");
        };
        // A few decide whether to look at all.
        const std::size_t few = std::min<std::size_t>(x.wrong.size(), 16), stride = x.wrong.size() / few;
        std::size_t fitting = 0;
        for (std::size_t k = 0; k < few; ++k) {
          const std::int64_t i = x.wrong[k * stride];
          fitting += !std::isnan(moved(i)) && fits(i, moved(i)) ? 1 : 0;
        }
        if (fitting * 4 < few * 3) continue;
        consider(Class::shifted,
                 fmt::format("everything lies {} element{} too {}", n, n == 1 ? "" : "s",
                             by > 0 ? "late" : "early"),
                 fits(moved));
      }
  }

  void consider_values() {
    consider(Class::nan_spread, "NaN or infinity where the result is finite",
             std::ranges::count_if(x.wrong, [&](auto i) {
               return !std::isfinite(x.got[at(i)]) && std::isfinite(x.golden[at(i)]);
             }));
    if (!info(x.dtype).floating) return;
    for (const int bits : {11, 8, 4, 3}) {
      if (bits >= check::format_of(x.dtype).precision) continue;
      consider(Class::coarse_rounding, fmt::format("rounded to {} significant bits", bits),
               std::ranges::count_if(x.wrong, [&](auto i) {
                 const double got = x.got[at(i)], golden = x.golden[at(i)];
                 if (!std::isfinite(got) || got == 0 || !std::isfinite(golden)) return false;
                 const double step = std::ldexp(1, std::ilogb(got) - (bits - 1));
                 return std::fmod(got, step) == 0 && std::fabs(got - golden) <= step;
               }));
    }
    consider_noise();
  }

  /// Errors of both signs, small beside the results: the values are right, their precision is not.
  void consider_noise() {
    double squares = 0, errors = 0, sum = 0;
    for (const std::int64_t i : x.wrong) {
      const double got = x.got[at(i)], golden = x.golden[at(i)];
      if (!std::isfinite(got) || !std::isfinite(golden)) return;
      errors += (got - golden) * (got - golden);
      sum += got - golden;
    }
    for (const double golden : x.golden)
      if (std::isfinite(golden)) squares += golden * golden;
    const double n = static_cast<double>(wrong());
    const double noise = std::sqrt(errors / n), level = std::sqrt(squares / static_cast<double>(count()));
    if (n >= 4 && noise < level / 8 && std::fabs(sum / n) < noise * (0.2 + 2 / std::sqrt(n)))
      consider(Class::coarse_rounding,
               fmt::format("errors of {:.2g} of the result's size and both signs: precision was lost",
                           noise / level),
               wrong());
  }

  void consider_places() {
    const std::int64_t columns = x.shape.empty() ? 1 : x.shape.back();
    for (const std::int64_t vector : kVectors) {
      const std::int64_t last = columns / vector * vector;
      if (last == 0 || last == columns) continue;
      consider(Class::tail,
               fmt::format("only columns from {} on, beyond the last multiple of {}", last, vector),
               std::ranges::count_if(x.wrong, [&](auto i) { return i % columns >= last; }));
      if (enough()) return;
    }
    for (const std::int64_t vector : kVectors) {
      const std::int64_t last = count() / vector * vector;
      if (last == 0 || last == count()) continue;
      consider(Class::tail,
               fmt::format("only elements from {} on, beyond the last multiple of {}", last, vector),
               std::ranges::count_if(x.wrong, [&](auto i) { return i >= last; }));
      if (enough()) return;
    }
    if (x.shape.size() < 2 || columns < 3 || count() / columns < 3) return;
    const std::int64_t rows = x.shape[x.shape.size() - 2];
    consider(Class::boundary, "only the first or last rows and columns",
             std::ranges::count_if(x.wrong, [&](auto i) {
               const std::int64_t column = i % columns, row = i / columns % rows;
               return column == 0 || column == columns - 1 || row == 0 || row == rows - 1;
             }));
  }

  const Evidence& x;
  Explanation x_best;
};

}  // namespace

std::string_view name_of(Class each) { return kClassNames[static_cast<std::size_t>(each)]; }
std::string_view name_of(Category category) { return kCategoryNames[static_cast<std::size_t>(category)]; }

Category category_of(Class each) {
  switch (each) {
    case Class::stale:
    case Class::not_reduced:
    case Class::contribution_missing:
    case Class::contribution_doubled:
    case Class::collective_skipped:
      return Category::synchronisation;
    case Class::unwritten:
    case Class::permuted_blocks:
    case Class::other_rank:
    case Class::mixed_groups:
    case Class::transposed:
    case Class::shifted:
    case Class::tail:
    case Class::boundary:
    case Class::unknown:
      return Category::partitioning;
    case Class::nan_spread:
    case Class::coarse_rounding:
      return Category::numerics;
  }
  return Category::partitioning;
}

std::vector<std::int64_t> find_wrong(const Evidence& evidence, std::int64_t most) {
  const auto for_each_wrong = [&](const auto& visit) {
    for (std::size_t i = 0; i < evidence.got.size(); ++i)
      if (!near(evidence.got[i], evidence.golden[i], evidence.bound[i])) visit(static_cast<std::int64_t>(i));
  };
  std::int64_t count = 0;
  for_each_wrong([&](std::int64_t) { ++count; });
  // Multiples of the golden ratio, modulo 1, fall everywhere alike; a fixed step might meet the same columns
  // only.
  constexpr std::uint64_t kGoldenRatio = 0x9E3779B97F4A7C15;
  const std::uint64_t chosen =
      ~std::uint64_t{0} / static_cast<std::uint64_t>(std::max<std::int64_t>(1, (count + most - 1) / most));
  std::vector<std::int64_t> some;
  std::uint64_t place = 0;
  for_each_wrong([&](std::int64_t i) {
    if (place <= chosen) some.push_back(i);
    place += kGoldenRatio;
  });
  return some;
}

std::vector<std::int64_t> fits(const Evidence& evidence, std::span<const Hypothesis> hypotheses) {
  std::vector<std::int64_t> counts;
  for (const Hypothesis& each : hypotheses) counts.push_back(Explainer(evidence).fits(each));
  return counts;
}

Explanation explain(const Evidence& evidence, std::span<const Hypothesis> hypotheses) {
  return Explainer(evidence).explain(hypotheses);
}

}  // namespace pkb::diagnosis
