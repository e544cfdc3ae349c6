// SPDX-License-Identifier: Apache-2.0
#include "harness/report/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>

namespace pkb::report {
namespace {

using Values = std::vector<Value>;

template <class Integer>
Value whole(Integer value) {
  return static_cast<std::int64_t>(value);
}

void add(Values& row, const Estimate& estimate) {
  row.insert(row.end(), {estimate.value, estimate.low, estimate.high});
}
void add_columns(std::vector<std::string>& columns, const std::string& name) {
  columns.insert(columns.end(), {name, name + "_low", name + "_high"});
}

std::string decimal(double value) { return fmt::format("{}", value); }

void add_figure_columns(std::vector<std::string>& columns) {
  columns.insert(columns.end(), {"problems", "samples_per_problem", "evaluated", "missing", "solved"});
  add_columns(columns, "correct");
  for (const double p : kThresholds) add_columns(columns, "fast_" + decimal(p));
  for (const int k : kDraws) add_columns(columns, fmt::format("fast_1_at_{}", k));
  for (const int k : kDraws) add_columns(columns, fmt::format("pass_at_{}", k));
  add_columns(columns, "geometric_mean_speedup");
  columns.insert(columns.end(), {"speedup_without_best", "speedup_without_worst"});
  add_columns(columns, "median_utilisation");
  columns.insert(columns.end(), {"solved_timed", "solved_untimed"});
}

void add(Values& row, const Figures& figures) {
  row.insert(row.end(), {whole(figures.problems), whole(figures.samples), whole(figures.evaluated),
                         whole(figures.missing), whole(figures.solved)});
  add(row, figures.correct);
  for (const auto* list : {&figures.fast, &figures.fast_1_at, &figures.pass_at})
    for (const Estimate& each : *list) add(row, each);
  add(row, figures.speedup);
  row.insert(row.end(), {figures.speedup_without_best, figures.speedup_without_worst});
  add(row, figures.utilisation);
  row.insert(row.end(), {whole(figures.timed), whole(figures.untimed)});
}

std::string mechanisms_text(Mechanisms mechanisms) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < std::size(kMechanismNames); ++i)
    if ((mechanisms >> i & 1) != 0) names.push_back(kMechanismNames[i]);
  return fmt::format("{}", fmt::join(names, " "));
}

/// A table of few rows, made at once.
Table table(std::string name, std::vector<std::string> columns, std::vector<Values> rows) {
  const auto kept = std::make_shared<std::vector<Values>>(std::move(rows));
  return {.name = std::move(name),
          .columns = std::move(columns),
          .size = kept->size(),
          .row = [kept](std::size_t i) { return (*kept)[i]; }};
}

class Tables {
 public:
  explicit Tables(const Report& report) : x_report(report) {}

  Table leaderboard() const {
    std::vector<std::string> columns = {"board", "verdict_only", "submitter", "model"};
    add_figure_columns(columns);
    columns.insert(columns.end(),
                   {"attempts", "unstable", "replies", "input_tokens", "output_tokens", "cached_tokens",
                    "reasoning_tokens", "price", "unpriced_replies", "first", "last"});
    return each_row(
        "leaderboard", columns,
        [](const Board& board, const Row& row, const Submitter& submitter, const auto& take) {
          Values values = {whole(board.is_verdict_only()), submitter.label, whole(submitter.is_model)};
          add(values, row.figures);
          values.insert(values.end(), {whole(row.by_attempt.size()), whole(row.unstable), whole(row.replies),
                                       whole(row.usage.input), whole(row.usage.output),
                                       whole(row.usage.cached), whole(row.usage.reasoning), row.usage.price,
                                       whole(row.unpriced), row.first, row.last});
          take(std::move(values));
        });
  }

  Table attempts() const {
    std::vector<std::string> columns = {"board", "submitter", "last_attempt"};
    add_figure_columns(columns);
    return each_row("attempts", columns,
                    [](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
                      for (std::size_t i = 0; i < row.by_attempt.size(); ++i) {
                        Values values = {submitter.label, whole(i)};
                        add(values, row.by_attempt[i]);
                        take(std::move(values));
                      }
                    });
  }

  Table curve() const {
    return each_row("fast_p", {"board", "submitter", "p", "fast_p"},
                    [this](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
                      for (std::size_t i = 0; i < row.curve.size(); ++i)
                        take({submitter.label, x_report.curve_p[i], row.curve[i]});
                    });
  }

  Table problems() const {
    return each_row(
        "problems",
        {"board", "submitter", "problem", "family", "samples", "correct", "verdict", "speedup", "best"},
        [this](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
          for (const Cell& cell : row.cells) {
            const Problem& problem = x_report.problems[cell.problem];
            const bool missing = cell.best == kNoIndex;
            take({submitter.label, problem.folder, problem.family, whole(cell.samples), whole(cell.correct),
                  std::string(cell.verdict ? name_of(*cell.verdict) : "missing"), cell.speedup,
                  missing ? Value() : Value(x_report.evaluations[cell.best].id)});
          }
        });
  }

  Table families() const {
    std::vector<std::string> columns = {"board", "submitter", "family"};
    add_figure_columns(columns);
    return each_row("families", columns,
                    [this](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
                      for (std::size_t i = 0; i < row.by_family.size(); ++i) {
                        Values values = {submitter.label, x_report.families[i]};
                        add(values, row.by_family[i]);
                        take(std::move(values));
                      }
                    });
  }

  Table failures() const {
    return each_row("failures", {"board", "submitter", "verdict", "category", "class", "evaluations"},
                    [](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
                      for (const Failures& each : row.failures)
                        take({submitter.label, std::string(name_of(each.verdict)), each.category, each.what,
                              whole(each.count)});
                    });
  }

  Table mechanisms() const {
    return each_row(
        "mechanisms",
        {"board", "submitter", "mechanism", "evaluations", "correct", "timed", "median_speedup"},
        [this](const Board&, const Row& row, const Submitter& submitter, const auto& take) {
          for (std::size_t i = 0; i < std::size(kMechanismNames); ++i) {
            int count = 0, correct = 0;
            std::vector<double> speedups;
            for (const Index index : row.evaluations) {
              const Evaluation& each = x_report.evaluations[index];
              if (!each.counted || (each.mechanisms >> i & 1) == 0) continue;
              ++count;
              correct += each.is_correct();
              if (!std::isnan(each.speedup())) speedups.push_back(each.speedup());
            }
            if (count > 0)
              take({submitter.label, std::string(kMechanismNames[i]), whole(count), whole(correct),
                    whole(speedups.size()), speedups.empty() ? Value() : Value(median(std::move(speedups)))});
          }
        });
  }

  Table settings() const {
    std::vector<Values> rows;
    for (const Submitter& each : x_report.submitters)
      for (const auto& [name, value] : each.settings) rows.push_back({each.label, name, value});
    return table("settings", {"submitter", "setting", "value"}, std::move(rows));
  }

  Table evaluations() const {
    return {.name = "evaluations",
            .columns = {"id",
                        "board",
                        "submitter",
                        "problem",
                        "sample",
                        "attempt",
                        "counted",
                        "verdict",
                        "category",
                        "class",
                        "baseline_ms",
                        "candidate_ms",
                        "candidate_ms_low",
                        "candidate_ms_high",
                        "speedup",
                        "speedup_low",
                        "speedup_high",
                        "floor_ms",
                        "roofline_ms",
                        "utilisation",
                        "limit",
                        "unstable",
                        "link_bytes",
                        "least_link_bytes",
                        "mechanisms",
                        "input_tokens",
                        "output_tokens",
                        "price",
                        "created",
                        "candidate",
                        "candidate_sha256",
                        "problem_sha256",
                        "commit",
                        "seed",
                        "file"},
            .size = x_report.evaluations.size(),
            .row = [this_report = &x_report](std::size_t i) {
              return evaluation_row(*this_report, this_report->evaluations[i]);
            }};
  }

  Table notices() const {
    std::vector<Values> rows;
    for (const Notice& each : x_report.notices)
      rows.push_back({std::string(name_of(each.kind)), each.file, each.text});
    return table("notices", {"kind", "file", "text"}, std::move(rows));
  }

  Table published() const {
    std::vector<Values> rows;
    for (const Published& each : x_report.published)
      rows.push_back({each.label, each.correct ? whole(*each.correct) : Value(), whole(kProblems),
                      each.fast_1_at_3 ? Value(*each.fast_1_at_3) : Value(), each.source});
    return table("published", {"label", "correct", "problems", "fast_1_at_3", "source"}, std::move(rows));
  }

  Table comparison(const Comparison& comparison) const {
    std::vector<Values> rows;
    for (const Comparison::Part& part : comparison.parts)
      for (const Comparison::Change& each : part.changes) {
        Values row = {x_report.boards[part.board].name, x_report.problems[each.problem].folder,
                      std::string(name_of(each.kind))};
        for (const Cell* cell : {&each.before, &each.after})
          row.insert(row.end(),
                     {whole(cell->samples), whole(cell->correct),
                      std::string(cell->verdict ? name_of(*cell->verdict) : "missing"), cell->speedup});
        rows.push_back(std::move(row));
      }
    return table("comparison",
                 {"board", "problem", "change", "samples_before", "correct_before", "verdict_before",
                  "speedup_before", "samples_after", "correct_after", "verdict_after", "speedup_after"},
                 std::move(rows));
  }

 private:
  /// A table with a column "board" and what `rows` gives to its last argument for each row of each board.
  template <class Rows>
  Table each_row(std::string name, std::vector<std::string> columns, const Rows& rows) const {
    std::vector<Values> all;
    for (const Board& board : x_report.boards)
      for (const Row& row : board.rows)
        rows(board, row, x_report.submitters[row.submitter], [&](Values values) {
          values.insert(values.begin(), board.name);
          all.push_back(std::move(values));
        });
    return table(std::move(name), std::move(columns), std::move(all));
  }

  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
  }

  static Values evaluation_row(const Report& report, const Evaluation& of) {
    const Times times = of.times.value_or(Times());
    const Usage usage = of.usage.value_or(Usage());
    return {of.id,
            report.boards[of.board].name,
            report.submitters[of.submitter].label,
            report.problems[of.problem].folder,
            whole(of.sample),
            whole(of.attempt),
            whole(of.counted),
            std::string(name_of(of.verdict)),
            of.category,
            of.what,
            times.baseline_ms,
            times.candidate_ms.value,
            times.candidate_ms.low,
            times.candidate_ms.high,
            times.speedup.value,
            times.speedup.low,
            times.speedup.high,
            times.floor_ms,
            times.least_ms,
            times.utilisation,
            times.limit,
            times.unstable,
            of.link_bytes,
            of.least_link_bytes,
            mechanisms_text(of.mechanisms),
            of.usage ? whole(usage.input) : Value(),
            of.usage ? whole(usage.output) : Value(),
            usage.price,
            of.created,
            of.candidate,
            of.candidate_sha256,
            of.problem_sha256,
            of.commit,
            std::to_string(of.seed),
            report.files[of.file]};
  }

  const Report& x_report;
};

}  // namespace

std::vector<Table> tables(const Report& report, const std::optional<Comparison>& comparison) {
  const Tables of(report);
  std::vector<Table> all = {of.leaderboard(), of.attempts(), of.curve(),      of.problems(),
                            of.families(),    of.failures(), of.mechanisms(), of.settings(),
                            of.evaluations(), of.notices(),  of.published()};
  if (comparison) all.push_back(of.comparison(*comparison));
  return all;
}

}  // namespace pkb::report
