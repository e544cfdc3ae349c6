// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/error/error.h"
#include "harness/report/figures.h"
#include "harness/report/report.h"

namespace pkb::report {
namespace {

using Change = Comparison::Change;

/// Evaluations of one submitter on one board.
struct Side {
  const std::string& asked;
  std::vector<Index> evaluations{};
};

bool lies_below(const std::string& file, const std::string& path) {
  return file.starts_with(path) &&
         (file.size() == path.size() || path.ends_with('/') || file[path.size()] == '/');
}

Side side_of(const Report& report, Index board, const std::string& asked) {
  const auto label = std::ranges::find(report.submitters, asked, &Submitter::label);
  Side side{.asked = asked};
  for (const Row& row : report.boards[board].rows)
    for (const Index i : row.evaluations) {
      const Evaluation& each = report.evaluations[i];
      const bool wanted = label != report.submitters.end() ? &report.submitters[each.submitter] == &*label
                                                           : lies_below(report.files[each.file], asked);
      if (!wanted) continue;
      if (!side.evaluations.empty() &&
          report.evaluations[side.evaluations.front()].submitter != each.submitter)
        throw InputError({.where = "--compare " + asked,
                          .fault = fmt::format("has several submitters on {}", report.boards[board].name),
                          .remedy = "name one, as the leaderboard writes it"});
      side.evaluations.push_back(i);
    }
  return side;
}

double share(const Cell& cell) { return static_cast<double>(cell.correct) / std::max(1, cell.samples); }

Change::Kind kind_of(const Report& report, const Cell& before, const Cell& after) {
  if (before.best == kNoIndex || after.best == kNoIndex) return Change::Kind::missing;
  if (share(after) != share(before))
    return share(after) < share(before) ? Change::Kind::regression : Change::Kind::improvement;
  if (std::isnan(before.speedup) || std::isnan(after.speedup)) return Change::Kind::same;
  // Intervals that overlap show no difference.
  const Estimate& was = report.evaluations[before.best].times->speedup;
  const Estimate& is = report.evaluations[after.best].times->speedup;
  if (is.high < was.low) return Change::Kind::slower;
  return is.low > was.high ? Change::Kind::faster : Change::Kind::same;
}

Comparison::Part part_of(const Report& report, Index board, const Side& before, const Side& after,
                         const Resampling& resampling) {
  const Entries old_entries(report, before.evaluations, 0), new_entries(report, after.evaluations, 0);
  const bool timed = !report.boards[board].is_verdict_only();
  const auto figures = [&](const Entries& of) {
    return of.figures(resampling, {.last_attempt = of.most_attempts(), .timed = timed});
  };
  Comparison::Part part{.board = board, .before = figures(old_entries), .after = figures(new_entries)};
  const std::vector<Cell> were = old_entries.cells(), are = new_entries.cells();
  for (std::size_t i = 0; i < were.size(); ++i)
    if (were[i].best != kNoIndex || are[i].best != kNoIndex)
      part.changes.push_back({.kind = kind_of(report, were[i], are[i]),
                              .problem = were[i].problem,
                              .before = were[i],
                              .after = are[i]});
  std::ranges::stable_sort(part.changes, {}, &Change::kind);
  return part;
}

}  // namespace

Comparison compare(const Report& report, const std::string& before, const std::string& after) {
  Comparison comparison{.before = before, .after = after};
  const Resampling resampling(strata(report));
  bool found_before = false, found_after = false;
  for (Index board = 0; board < report.boards.size(); ++board) {
    const Side old_side = side_of(report, board, before), new_side = side_of(report, board, after);
    found_before |= !old_side.evaluations.empty();
    found_after |= !new_side.evaluations.empty();
    if (!old_side.evaluations.empty() && !new_side.evaluations.empty())
      comparison.parts.push_back(part_of(report, board, old_side, new_side, resampling));
  }
  if (!found_before || !found_after)
    throw InputError({.where = "--compare " + (found_before ? after : before),
                      .fault = "is no submitter's label and no path with results that were read",
                      .remedy = "write it as the leaderboard does, or name one of the paths"});
  if (comparison.parts.empty())
    throw InputError({.where = fmt::format("--compare {} {}", before, after),
                      .fault = "no board has both",
                      .remedy = "evaluate both on the same device, W, size and dtype"});
  return comparison;
}

}  // namespace pkb::report
