// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/boards.h"

#include <cmath>

#include "harness/report/site/data_file.h"

namespace pkb::report {
namespace {

using nlohmann::json;

json all_numbers(const std::vector<Estimate>& estimates) {
  json list = json::array();
  for (const Estimate& each : estimates) list.push_back(numbers(each));
  return list;
}

json to_json(const Usage& usage) {
  return {{"input", usage.input},
          {"output", usage.output},
          {"cached", usage.cached},
          {"reasoning", usage.reasoning},
          {"price", number(usage.price)}};
}

json names_of(Mechanisms mechanisms) {
  json names = json::array();
  for (std::size_t i = 0; i < std::size(kMechanismNames); ++i)
    if ((mechanisms >> i & 1) != 0) names.push_back(i);
  return names;
}

json row_of(const Row& row) {
  json by_attempt = json::array(), by_family = json::array();
  for (const Figures& each : row.by_attempt) by_attempt.push_back(to_json(each));
  for (const Figures& each : row.by_family) by_family.push_back(to_json(each));
  return {{"submitter", row.submitter},
          {"figures", to_json(row.figures)},
          {"by_attempt", std::move(by_attempt)},
          {"by_family", std::move(by_family)},
          {"usage", to_json(row.usage)},
          {"replies", row.replies},
          {"unpriced", row.unpriced},
          {"unstable", row.unstable},
          {"evaluations", row.evaluations.size()},
          {"first", row.first},
          {"last", row.last}};
}

json cell_of(const Report& report, const Cell& cell) {
  if (cell.best == kNoIndex) return {cell.samples, cell.correct};
  const Evaluation& best = report.evaluations[cell.best];
  return {cell.samples,
          cell.correct,
          static_cast<int>(best.verdict),
          number(best.speedup()),
          number(best.times ? best.times->utilisation : kNone),
          number(best.link_bytes / best.least_link_bytes),
          names_of(best.mechanisms),
          page_of(cell.best)};
}

json kept(const Cell& cell) {
  return {{"verdict", cell.verdict ? json(static_cast<int>(*cell.verdict)) : json()},
          {"samples", cell.samples},
          {"correct", cell.correct},
          {"speedup", number(cell.speedup)},
          {"page", cell.best == kNoIndex ? json() : json(page_of(cell.best))}};
}

}  // namespace

json to_json(const Figures& figures) {
  return {{"samples", figures.samples},
          {"evaluated", figures.evaluated},
          {"missing", figures.missing},
          {"solved", figures.solved},
          {"correct", numbers(figures.correct)},
          {"fast", all_numbers(figures.fast)},
          {"fast_1_at", all_numbers(figures.fast_1_at)},
          {"pass_at", all_numbers(figures.pass_at)},
          {"speedup", numbers(figures.speedup)},
          {"without_best", number(figures.speedup_without_best)},
          {"without_worst", number(figures.speedup_without_worst)},
          {"utilisation", numbers(figures.utilisation)},
          {"timed", figures.timed},
          {"untimed", figures.untimed}};
}

json boards_data(const Report& report) {
  json problems = json::array(), submitters = json::array(), boards = json::array(), published = json::array();
  for (Index i = 0; i < report.problems.size(); ++i) {
    const Problem& each = report.problems[i];
    problems.push_back({{"id", each.id},
                        {"name", each.name},
                        {"title", each.title},
                        {"family", each.family},
                        {"known", each.is_known},
                        {"page", "problems/" + page_of(report, i) + ".html"}});
  }
  for (const Submitter& each : report.submitters)
    submitters.push_back(
        {{"name", each.name}, {"label", each.label}, {"is_model", each.is_model}, {"settings", each.settings}});
  for (const Board& each : report.boards) {
    json rows = json::array();
    for (const Row& row : each.rows) rows.push_back(row_of(row));
    boards.push_back({{"name", each.name},
                      {"device", launch::name_of(each.device)},
                      {"hardware", each.hardware},
                      {"size", each.size},
                      {"dtype", each.dtype},
                      {"ranks", each.ranks},
                      {"generated_inputs", each.generated_inputs},
                      {"verdict_only", each.is_verdict_only()},
                      {"rows", std::move(rows)}});
  }
  for (const Published& each : report.published)
    published.push_back({{"label", each.label},
                         {"source", each.source},
                         {"correct", each.correct ? json(*each.correct) : json()},
                         {"fast_1_at_3", each.fast_1_at_3 ? json(*each.fast_1_at_3) : json()}});
  return {{"problem_count", kProblems},          {"verdicts", kVerdictNames},
          {"thresholds", kThresholds},           {"draws", kDraws},
          {"mechanisms", kMechanismNames},       {"curve_p", report.curve_p},
          {"families", report.families},         {"problems", std::move(problems)},
          {"submitters", std::move(submitters)}, {"boards", std::move(boards)},
          {"published", std::move(published)}};
}

json cells_data(const Report& report, const Board& board) {
  json rows = json::array();
  for (const Row& row : board.rows) {
    json cells = json::array(), failures = json::array(), curve = json::array();
    for (const Cell& each : row.cells) cells.push_back(cell_of(report, each));
    for (const Failures& each : row.failures)
      failures.push_back({static_cast<int>(each.verdict), each.category, each.what, each.count});
    for (const double each : row.curve) curve.push_back(number(each));
    rows.push_back({{"cells", std::move(cells)}, {"failures", std::move(failures)}, {"curve", std::move(curve)}});
  }
  return rows;
}

json comparison_data(const Report& report, const Comparison& comparison) {
  json parts = json::array();
  for (const Comparison::Part& part : comparison.parts) {
    json changes = json::array();
    for (const Comparison::Change& each : part.changes)
      changes.push_back({{"kind", name_of(each.kind)},
                         {"problem", each.problem},
                         {"before", kept(each.before)},
                         {"after", kept(each.after)}});
    parts.push_back({{"board", report.boards[part.board].name},
                     {"verdict_only", report.boards[part.board].is_verdict_only()},
                     {"before", to_json(part.before)},
                     {"after", to_json(part.after)},
                     {"changes", std::move(changes)}});
  }
  return {{"before", comparison.before}, {"after", comparison.after}, {"parts", std::move(parts)}};
}

void add_rounded(JsonText& json, const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) {
    json.add(nullptr);
    return;
  }
  json.open('[').add_rounded(estimate.value).add_rounded(estimate.low).add_rounded(estimate.high).close(']');
}

void add_row(JsonText& json, const Report& report, Index index) {
  const Evaluation& each = report.evaluations[index];
  const Times times = each.times.value_or(Times());
  json.open('[').add(page_of(index)).add(each.board).add(each.submitter).add(each.sample).add(each.attempt);
  json.add(static_cast<int>(each.verdict)).add(each.category).add(each.what);
  add_rounded(json, times.speedup);
  add_rounded(json, times.candidate_ms);
  json.add_rounded(times.baseline_ms).add_rounded(times.utilisation);
  json.add_rounded(each.link_bytes / each.least_link_bytes).open('[');
  for (std::size_t i = 0; i < std::size(kMechanismNames); ++i)
    if ((each.mechanisms >> i & 1) != 0) json.add(i);
  json.close(']').add(each.created).add(times.unstable).add(each.counted).close(']');
}

}  // namespace pkb::report
