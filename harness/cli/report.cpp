// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/installation.h"
#include "harness/cli/report_files.h"
#include "harness/report/plain.h"
#include "harness/report/tables.h"

namespace pkb::cli {
namespace {

struct ReportOptions {
  std::vector<std::filesystem::path> paths;
  std::string out, title = report::Options().title, libraries = report::Site().libraries;
  std::vector<std::string> compared;
  bool json = false;
};

std::string row_line(const report::Report& report, const report::Row& row) {
  const report::Figures& of = row.figures;
  std::string line = fmt::format("  {:<40} correct {:.{}f} of {}, {} missing",
                                 report::plain(report.submitters[row.submitter].label, 40), of.correct.value,
                                 of.samples > 1 ? 1 : 0, of.problems, of.missing);
  if (of.samples > 1) line += fmt::format(" (of {} samples each)", of.samples);
  if (!std::isnan(of.speedup.value))
    line += fmt::format(", fast_1 {:.1f} %, speedup {:.2f}", 100 * of.fast[0].value, of.speedup.value);
  return line + "\n";
}

void print(const report::Report& report, const std::filesystem::path& out, bool json) {
  if (json) {
    nlohmann::json notices = nlohmann::json::object();
    for (const report::Notice& each : report.notices) {
      nlohmann::json& count = notices[std::string(name_of(each.kind))];
      count = count.is_null() ? 1 : count.get<int>() + 1;
    }
    fmt::print("{{\"out\":{},\"evaluations\":{},\"notices\":{},\"leaderboard\":{}}}\n",
               nlohmann::json(out.string()).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
               report.evaluations.size(), notices.dump(),
               report::json_of(report::tables(report, std::nullopt).front()));
    return;
  }
  for (const report::Board& board : report.boards) {
    fmt::print("{}{}\n", report::plain(board.name), board.is_verdict_only() ? " (verdicts only)" : "");
    for (const report::Row& row : board.rows) fmt::print("{}", row_line(report, row));
  }
  fmt::print("{} evaluations; {}\n", report.evaluations.size(), (out / "index.html").string());
}

void make(const ReportOptions& options) {
  const report::Report report =
      report::make_report(options.paths, {.title = options.title, .problems = installation().problems()});
  std::optional<report::Comparison> comparison;
  if (!options.compared.empty())
    comparison = report::compare(report, options.compared.at(0), options.compared.at(1));
  warn_of(report.notices);
  write_report(report, comparison, options.out, options.libraries);
  print(report, options.out, options.json);
}

}  // namespace

void write_report(const report::Report& report, const std::optional<report::Comparison>& comparison,
                  const std::filesystem::path& folder, const std::filesystem::path& libraries) {
  // Whatever becomes of the site: tables need no library.
  auto tables = std::async(std::launch::async, [&] { report::write_tables(report, comparison, folder); });
  report::write_site(report, comparison,
                     {.folder = folder, .source = installation().source, .libraries = libraries});
  tables.get();
}

void warn_of(const std::vector<report::Notice>& notices) {
  constexpr std::size_t kMost = 8;
  std::vector<const report::Notice*> gravest;
  for (const report::Notice& each : notices) gravest.push_back(&each);
  std::ranges::stable_sort(gravest, {}, [](const report::Notice* each) { return each->kind; });
  for (std::size_t i = 0; i < std::min(gravest.size(), kMost); ++i)
    spdlog::warn("{}: {}: {}", name_of(gravest[i]->kind), report::plain(gravest[i]->file),
                 report::plain(gravest[i]->text));
  if (gravest.size() > kMost) spdlog::warn("and {} more notices", gravest.size() - kMost);
}

bool has_fault(const std::vector<report::Notice>& notices) {
  return std::ranges::any_of(
      notices, [](const report::Notice& each) { return each.kind <= report::Notice::Kind::conflict; });
}

void add_report(CLI::App& pkb) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App* command = pkb.add_subcommand(
      "report", "Boards, tables and a summary of results: of evaluations, campaigns, whole folders of them");
  command->add_option("paths", options->paths, "Result files, campaigns, folders of either")->required();
  command->add_option("--out", options->out, "Folder for the report")->required();
  command
      ->add_option("--compare", options->compared,
                   "Two runs, each a submitter as the leaderboard writes it or a path: what changed, "
                   "regressions first")
      ->expected(2);
  command
      ->add_option("--libraries", options->libraries,
                   "Where the distribution puts the JavaScript libraries that the pages use")
      ->capture_default_str();
  command->add_option("--title", options->title, "What stands above it")->capture_default_str();
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options] { make(*options); });
}

}  // namespace pkb::cli
