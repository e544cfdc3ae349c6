// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/installation.h"
#include "harness/cli/report_files.h"
#include "harness/cli/verify.h"
#include "harness/error/error.h"
#include "harness/report/merge.h"
#include "harness/report/plain.h"
#include "harness/report/tables.h"

namespace pkb::cli {
namespace {

using nlohmann::json;
using report::plain;

struct ResultsOptions {
  std::vector<std::filesystem::path> paths;
  std::string out, which;
  bool json = false;
};

json to_json(const std::vector<report::Notice>& notices) {
  json list = json::array();
  for (const report::Notice& each : notices)
    list.push_back({{"kind", name_of(each.kind)}, {"file", each.file}, {"text", each.text}});
  return list;
}

void print(const json& value) {
  fmt::print("{}\n", value.dump(-1, ' ', false, json::error_handler_t::replace));
}

void print(const std::vector<report::Notice>& notices) {
  for (const report::Notice& each : notices)
    fmt::print("{}: {}: {}\n", name_of(each.kind), plain(each.file), plain(each.text));
}

report::Report read(const ResultsOptions& options) {
  const Installation here = installation();
  return report::make_report(options.paths.empty() ? std::vector{here.results()} : options.paths,
                             {.problems = here.problems()});
}

Exit validate(const ResultsOptions& options) {
  const report::Report report = read(options);
  const bool fault = has_fault(report.notices);
  if (options.json) {
    print(json{
        {"valid", !fault}, {"evaluations", report.evaluations.size()}, {"notices", to_json(report.notices)}});
  } else {
    print(report.notices);
    fmt::print("{} evaluations{}\n", report.evaluations.size(),
               fault ? "; there are faults" : ", without a fault");
  }
  return fault ? Exit::bad_input : Exit::done;
}

Exit merge(const ResultsOptions& options) {
  const report::Merged merged = report::merge(options.paths, options.out);
  const bool fault = has_fault(merged.notices);
  if (options.json) {
    print(json{
        {"written", merged.written}, {"unjudged", merged.unjudged}, {"notices", to_json(merged.notices)}});
  } else {
    warn_of(merged.notices);
    fmt::print("{} results written to {}", merged.written, options.out);
    fmt::print("{}\n",
               merged.unjudged > 0 ? fmt::format("; {} replies were never judged", merged.unjudged) : "");
  }
  return fault ? Exit::bad_input : Exit::done;
}

/// "correct, 1.25 times as fast"
std::string outcome(const report::Evaluation& of) {
  std::string text(name_of(of.verdict));
  if (!std::isnan(of.speedup())) text += fmt::format(", speedup {:.3f}", of.speedup());
  return text;
}

void list(const ResultsOptions& options) {
  const report::Report report = read(options);
  if (options.json) {
    for (const report::Table& each : report::tables(report, std::nullopt))
      if (each.name == "evaluations") fmt::print("{{\"evaluations\":{}}}\n", report::json_of(each));
    return;
  }
  warn_of(report.notices);
  for (const report::Evaluation& each : report.evaluations)
    fmt::print("{}  {:<32} {:<28} {} | {} | {}\n", each.id, report.problems[each.problem].folder,
               outcome(each), plain(report.submitters[each.submitter].label, 60),
               plain(report.boards[each.board].name), plain(report.files[each.file]));
}

void print(const report::Report& report, const report::Evaluation& of, const report::Detail& detail) {
  fmt::print("{}  {}\n{}, {}\n", of.id, report.problems[of.problem].folder,
             plain(report.submitters[of.submitter].label), plain(report.boards[of.board].name));
  fmt::print("{}\n", outcome(of));
  for (const report::Detail::Finding& each : detail.findings) {
    fmt::print("  {}{}: {}\n", name_of(each.verdict),
               each.rank >= 0 ? fmt::format(" on rank {}", each.rank) : "", plain(each.text, 1000));
    if (!each.explanation.empty()) fmt::print("    explained by: {}\n", plain(each.explanation, 1000));
  }
  if (of.times)
    fmt::print("  baseline {:.4f} ms, candidate {:.4f} ms ({:.4f} to {:.4f}) in {} pairs\n",
               of.times->baseline_ms, of.times->candidate_ms.value, of.times->candidate_ms.low,
               of.times->candidate_ms.high, detail.candidate_ms.size());
  if (!std::isnan(of.link_bytes))
    fmt::print("  links: {:.2f} times what the problem needs\n", of.link_bytes / of.least_link_bytes);
  for (const auto& [name, value] : detail.environment) fmt::print("  {}: {}\n", plain(name), plain(value));
  fmt::print("  candidate: {} {}\n  file: {}\n", plain(of.candidate), of.candidate_sha256,
             plain(report.files[of.file]));
}

void show(const ResultsOptions& options) {
  ResultsOptions with = options;
  const bool is_file = std::filesystem::exists(options.which);
  if (is_file) with.paths = {options.which};
  const report::Report report = read(with);
  std::vector<const report::Evaluation*> found;
  for (const report::Evaluation& each : report.evaluations)
    if (is_file || each.id == options.which) found.push_back(&each);
  if (found.size() != 1) {
    warn_of(report.notices);
    throw InputError({.where = options.which,
                      .fault = found.empty() ? "is no result and no id of one"
                                             : fmt::format("holds {} results", found.size()),
                      .remedy = "choose one that `pkb results list PATH` shows"});
  }
  const report::Detail detail = report::DetailReader().read(report, *found.front());
  if (!options.json) return print(report, *found.front(), detail);
  for (const report::Table& each : report::tables(report, std::nullopt))
    if (each.name == "evaluations") {
      json shown = json::parse(report::json_of(each))
                       .at(static_cast<std::size_t>(found.front() - report.evaluations.data()));
      shown["source"] = detail.source;
      for (const report::Detail::Finding& finding : detail.findings)
        shown["findings"].push_back({{"verdict", name_of(finding.verdict)},
                                     {"rank", finding.rank},
                                     {"trial", finding.trial},
                                     {"text", finding.text}});
      print(shown);
    }
}

}  // namespace

void add_results(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<ResultsOptions>();
  CLI::App* results = pkb.add_subcommand("results", "Stored results: check, gather, look up, evaluate again");
  results->require_subcommand(1);
  const auto add = [&](const char* name, const char* does, const std::function<Exit()>& run) {
    CLI::App* command = results->add_subcommand(name, does);
    command->add_flag("--json", options->json, "One JSON object on standard output");
    command->callback([run, &exit] { exit = run(); });
    return command;
  };
  const char* const kPaths = "Result files, campaigns, folders of either; results/local/ when left out";
  add("validate", "Whether results can be what they say; names file and field of those that cannot",
      [options] { return validate(*options); })
      ->add_option("paths", options->paths, kPaths);
  CLI::App* merging = add("merge", "Copy every evaluation to a folder, a file each that stands alone",
                          [options] { return merge(*options); });
  merging->add_option("paths", options->paths, "Result files, campaigns, folders of either")->required();
  merging->add_option("--out", options->out, "The folder; what it has stays")->required();
  add("list", "A line for each evaluation", [options] {
    list(*options);
    return Exit::done;
  })->add_option("paths", options->paths, kPaths);
  CLI::App* showing = add("show", "One evaluation", [options] {
    show(*options);
    return Exit::done;
  });
  showing->add_option("which", options->which, "A result file, or an id")->required();
  showing->add_option("paths", options->paths, "Where to look for an id; results/local/ when left out");
  add_verify(*results, exit);
}

}  // namespace pkb::cli
