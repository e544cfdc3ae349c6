// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "harness/report/plain.h"
#include "harness/report/tables.h"

namespace pkb::report {
namespace {

constexpr std::size_t kMostRows = 20, kMostChanges = 30, kMostNotices = 10;

/// Within code nothing is markup, a link or a mention.
std::string code(std::string_view text) {
  std::string shown;
  for (const char c : plain(text, 120)) {
    if (c == '|') shown += '\\';  // a table splits cells even within code
    shown += c == '`' ? '\'' : c;
  }
  if (shown.find_first_not_of(' ') == std::string::npos) return "-";
  return fmt::format("`{}`", shown);
}

std::string figure(double value, int decimals, double scale = 1) {
  if (std::isnan(value)) return "n/a";
  std::array<char, 400> digits{};
  const auto [end, error] =
      std::to_chars(digits.begin(), digits.end(), value * scale, std::chars_format::fixed, decimals);
  return error == std::errc() ? std::string(digits.begin(), end) : "n/a";
}

std::string figure(const Estimate& estimate, int decimals, double scale = 1) {
  if (std::isnan(estimate.low)) return figure(estimate.value, decimals, scale);
  return fmt::format("{} ({} to {})", figure(estimate.value, decimals, scale),
                     figure(estimate.low, decimals, scale), figure(estimate.high, decimals, scale));
}

/// One mean hides an outlier; the range with one problem left out shows it.
std::string speedup(const Figures& figures) {
  if (std::isnan(figures.speedup.value)) return "n/a";
  std::string text = figure(figures.speedup, 2);
  if (!std::isnan(figures.speedup_without_best))
    text += fmt::format("; {} without the best problem", figure(figures.speedup_without_best, 2));
  return text;
}

std::string more(std::size_t all, std::size_t shown) {
  return all > shown ? fmt::format("\n{} more are in `tables/`.\n", all - shown) : std::string();
}

void add_board(std::string& text, const Report& report, const Board& board) {
  text += fmt::format("\n## {}\n\n", code(board.name));
  if (board.is_verdict_only())
    text += board.device == launch::Device::shared ? "Verdicts only: ranks shared one GPU, which has no "
                                                     "times to compare and cannot show every fault.\n\n"
                                                   : "Verdicts only: virtual GPUs have no times.\n\n";
  const bool timed = !board.is_verdict_only();
  text += timed ? "| submitter | n | correct of 87 | missing | fast_1 % | fast_2 % | fast_1@3 % | pass@3 % | "
                  "speedup | utilisation % |\n|---|---|---|---|---|---|---|---|---|---|\n"
                : "| submitter | n | correct of 87 | solved by any sample | missing | pass@3 % "
                  "|\n|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < std::min(board.rows.size(), kMostRows); ++i) {
    const Row& row = board.rows[i];
    const Figures& of = row.figures;
    const std::string who = code(report.submitters[row.submitter].label),
                      correct = figure(of.correct, of.samples > 1 ? 1 : 0);
    if (timed)
      text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n", who, of.samples, correct,
                          of.missing, figure(of.fast[0], 1, 100), figure(of.fast[2], 1, 100),
                          figure(of.fast_1_at[1], 1, 100), figure(of.pass_at[1], 1, 100), speedup(of),
                          figure(of.utilisation, 0, 100));
    else
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n", who, of.samples, correct, of.solved,
                          of.missing, figure(of.pass_at[1], 1, 100));
  }
  text += more(board.rows.size(), kMostRows);
  int unstable = 0, untimed = 0;
  for (const Row& row : board.rows) {
    unstable += row.unstable;
    untimed += row.figures.untimed;
  }
  if (unstable > 0) text += fmt::format("\n{} correct evaluations have doubtful times.\n", unstable);
  if (timed && untimed > 0)
    text += fmt::format(
        "\n{} problems are solved, but without a speedup: not timed, or below the floor of the method.\n",
        untimed);
}

void add_comparison(std::string& text, const Report& report, const Comparison& comparison) {
  text += fmt::format("\n## {} against {}\n", code(comparison.after), code(comparison.before));
  for (const Comparison::Part& part : comparison.parts) {
    text += fmt::format("\n{}: correct {} of {}, before {}; speedup {}, before {}.\n\n",
                        code(report.boards[part.board].name), figure(part.after.correct.value, 1), kProblems,
                        figure(part.before.correct.value, 1), figure(part.after.speedup.value, 2),
                        figure(part.before.speedup.value, 2));
    std::vector<const Comparison::Change*> changes;
    for (const Comparison::Change& each : part.changes)
      if (each.kind != Comparison::Change::Kind::same) changes.push_back(&each);
    if (changes.empty()) {
      text += "Nothing has changed.\n";
      continue;
    }
    text += "| problem | change | before | after |\n|---|---|---|---|\n";
    const auto cell = [](const Cell& of) {
      if (!of.verdict) return std::string("missing");
      return fmt::format("{}, {} of {}{}", name_of(*of.verdict), of.correct, of.samples,
                         std::isnan(of.speedup) ? "" : fmt::format(", {:.2f} times", of.speedup));
    };
    for (std::size_t i = 0; i < std::min(changes.size(), kMostChanges); ++i)
      text += fmt::format("| {} | {} | {} | {} |\n", code(report.problems[changes[i]->problem].folder),
                          name_of(changes[i]->kind), cell(changes[i]->before), cell(changes[i]->after));
    text += more(changes.size(), kMostChanges);
  }
}

void add_published(std::string& text, const Report& report) {
  text +=
      "\n## Published, not ranked with ours\n\nOther harness, other checks, other hardware.\n\n| | correct "
      "of 87 | fast_1@3 % | source |\n|---|---|---|---|\n";
  for (const Published& each : report.published)
    text += fmt::format("| {} | {} | {} | {} |\n", each.label,
                        each.correct ? fmt::to_string(*each.correct) : "n/a",
                        each.fast_1_at_3 ? figure(*each.fast_1_at_3, 0, 100) : "n/a", each.source);
}

void add_notices(std::string& text, const Report& report) {
  std::array<int, std::size(kNoticeNames)> counts{};
  for (const Notice& each : report.notices) ++counts[static_cast<std::size_t>(each.kind)];
  std::vector<std::string> words;
  for (std::size_t i = 0; i < counts.size(); ++i)
    if (counts[i] > 0) words.push_back(fmt::format("{} {}", counts[i], kNoticeNames[i]));
  if (words.empty()) return;
  text += fmt::format("\n## Notices: {}\n\n", fmt::join(words, ", "));
  std::vector<const Notice*> gravest;
  for (const Notice& each : report.notices) gravest.push_back(&each);
  std::ranges::stable_sort(gravest, {}, [](const Notice* each) { return each->kind; });
  for (std::size_t i = 0; i < std::min(gravest.size(), kMostNotices); ++i)
    text += fmt::format("- {}: {} {}\n", name_of(gravest[i]->kind), code(gravest[i]->file),
                        code(gravest[i]->text));
  text += more(gravest.size(), kMostNotices);
}

}  // namespace

std::string summary(const Report& report, const std::optional<Comparison>& comparison) {
  std::string text = fmt::format(
      "# {}\n\n{} evaluations, read {}. All shares are of {} problems; what is missing has failed; in "
      "brackets 95 % intervals over problems. "
      "n: samples of each problem.\n",
      code(report.title), report.evaluations.size(), report.created, kProblems);
  if (const auto synthetic = std::ranges::count(report.evaluations, true, &Evaluation::synthetic);
      synthetic > 0)
    text += fmt::format("\n**{} of them are synthetic: made up, not measured.**\n", synthetic);
  if (comparison) add_comparison(text, report, *comparison);
  for (const Board& board : report.boards) add_board(text, report, board);
  add_published(text, report);
  add_notices(text, report);
  return text;
}

}  // namespace pkb::report
