// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/verify.h"

#include <fmt/format.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "harness/cli/installation.h"
#include "harness/cli/job_options.h"
#include "harness/cli/judge_candidate.h"
#include "harness/cli/report_files.h"
#include "harness/error/error.h"
#include "harness/report/files.h"
#include "harness/store/migration.h"
#include "harness/store/store.h"
#include "harness/store/verdict.h"

namespace pkb::cli {
namespace {

using nlohmann::json;

struct VerifyOptions {
  std::vector<std::filesystem::path> files;
  std::string device;
  bool json = false;
};

InputError refusal(const std::filesystem::path& file, std::string fault, std::string remedy = {}) {
  return InputError({.where = file.string(), .fault = std::move(fault), .remedy = std::move(remedy)});
}

/// The checks of a report come first: what they refuse, nobody need repeat.
json load(const std::filesystem::path& file) {
  const report::Report report = report::make_report({file}, {});
  warn_of(report.notices);
  if (report.evaluations.size() != 1) throw refusal(file, "is not one result", "name result files");
  std::string text;
  report::read_file(file, text);
  json result = json::parse(text);
  store::migration().apply(result);
  if (result.at("verdict") == name_of(Verdict::no_code))
    throw refusal(file, "is a reply without code: there is nothing to evaluate");
  if (result.at("inputs") != "generated")
    throw refusal(file, "was evaluated on inputs that were brought along",
                  "`pkb eval --import` with the same ones repeats it");
  return result;
}

/// As many as the result has; where none was run, as many as `pkb eval` runs.
int trials_of(const json& result) {
  int trials = 0;
  for (const json& each : result.value("trials", json::array()))
    trials = std::max(trials, each.value("trial", 0) + 1);
  return trials > 0 ? trials : JobOptions().trials;
}

std::vector<std::string> arguments(const json& result, const std::filesystem::path& source,
                                   const std::filesystem::path& out, const std::string& device) {
  const json& problem = result.at("problem");
  std::vector<std::string> words = {std::to_string(problem.at("id").get<int>()),
                                    source.string(),
                                    "--size",
                                    result.at("size"),
                                    "--dtype",
                                    result.at("dtype"),
                                    "--ranks",
                                    std::to_string(result.at("ranks").get<int>()),
                                    "--device",
                                    device,
                                    "--seed",
                                    std::to_string(result.at("seed").get<std::uint64_t>()),
                                    "--trials",
                                    std::to_string(trials_of(result)),
                                    "--schedules",
                                    std::to_string(result.value("schedules", 1)),
                                    "--out",
                                    out.string(),
                                    "--timing",
                                    result.contains("timing") ? "on" : "off"};
  if (device == "virtual") {
    if (result.at("chip").is_string()) words.insert(words.end(), {"--chip", result.at("chip")});
    words.insert(words.end(), {"--checks", result.value("checks", true) ? "on" : "off"});
  }
  return words;
}

double speedup(const json& result) {
  const json none;
  const json& speedup = result.contains("timing") ? result.at("timing").at("speedup") : none;
  return speedup.is_null() ? report::kNone : speedup.at("value").get<double>();
}

struct Outcome {
  bool reproduces = false;
  json facts;
};

Outcome verify(const std::filesystem::path& file, const std::string& device) {
  const json before = load(file);
  const PrivateFolder folder;
  const std::filesystem::path source = folder.path() / "candidate.cu";
  store::write_whole(source, before.at("candidate").at("source").get<std::string>());
  static const std::atomic<bool> kNever = false;
  const json now =
      judge_candidate(arguments(before, source, folder.path() / "results",
                                device.empty() ? before.at("device").get<std::string>() : device),
                      kNever);
  Outcome outcome{.reproduces = now.at("verdict") == before.at("verdict"), .facts = {}};
  outcome.facts = {
      {"file", file.string()},
      {"reproduces", outcome.reproduces},
      {"before", before.at("verdict")},
      {"now", now.at("verdict")},
      {"device", now.at("device")},
      {"same_problem", now.at("problem").at("sha256") == before.at("problem").value("sha256", "")},
      {"speedup_before", speedup(before)},
      {"speedup_now", speedup(now)}};
  return outcome;
}

std::string line(const json& facts) {
  std::string text = fmt::format("{}: {}: {}", facts.at("file").get<std::string>(),
                                 facts.at("reproduces") ? "reproduces" : "does NOT reproduce",
                                 facts.at("now").get<std::string>());
  if (!facts.at("reproduces"))
    text += fmt::format(", the file says {}", facts.at("before").get<std::string>());
  if (facts.at("speedup_now").is_number() && facts.at("speedup_before").is_number())
    text += fmt::format("; speedup {:.3f}, before {:.3f}", facts.at("speedup_now").get<double>(),
                        facts.at("speedup_before").get<double>());
  return text + (facts.at("same_problem") ? "\n" : "; the problem has changed since\n");
}

Exit verify_all(const VerifyOptions& options) {
  bool all = true;
  json list = json::array();
  for (const std::filesystem::path& file : options.files) {
    const Outcome outcome = verify(file, options.device);
    all &= outcome.reproduces;
    // Through text: JSON makes null of what is no number.
    const json facts = json::parse(outcome.facts.dump(-1, ' ', false, json::error_handler_t::replace));
    if (options.json)
      list.push_back(facts);
    else
      fmt::print("{}", line(facts));
  }
  if (options.json) fmt::print("{}\n", json{{"reproduces", all}, {"results", list}}.dump());
  return all ? Exit::done : Exit::candidate_failed;
}

}  // namespace

void add_verify(CLI::App& results, Exit& exit) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = results.add_subcommand(
      "verify", "Evaluate stored candidates again, with their seeds, and say whether the verdicts reproduce");
  command->add_option("files", options->files, "Result files")->required();
  command->add_option("--device", options->device, "Where; as the result says when left out")
      ->check(CLI::IsMember({"virtual", "shared", "cuda"}));
  command->add_flag("--json", options->json, "One JSON object on standard output");
  command->callback([options, &exit] { exit = verify_all(*options); });
}

}  // namespace pkb::cli
