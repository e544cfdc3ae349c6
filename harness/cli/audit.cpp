// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/job_options.h"
#include "harness/cli/report_lines.h"
#include "harness/store/verdict.h"

namespace pkb::cli {
namespace {

Exit audit(const JobOptions& options) {
  const PrivateFolder folder;
  PreparedJob prepared = prepare(options, folder);
  prepared.job.mode = launch::Job::Mode::auditing;
  const nlohmann::json result = launch::run_judges(prepared.job);
  const bool holds = result.at("verdict") == name_of(Verdict::correct);
  if (options.json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}\n", headline(prepared));
    for (const nlohmann::json& row : result.at("audit"))
      fmt::print("  {:<32} {:<14} {}\n", row.at("answer").get<std::string>(),
                 row.at("outcome").get<std::string>(), row.at("reason").get<std::string>());
    fmt::print("{}", holds ? "no answer passes that nobody worked for\n" : diagnosis_lines(result));
  }
  return holds ? Exit::done : Exit::candidate_failed;
}

}  // namespace

void add_audit(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<JobOptions>();
  CLI::App* command = pkb.add_subcommand(
      "audit", "Prove that a problem refuses what was not worked for: constants, echoes, spoilt collectives");
  add_job_options(*command, *options);
  command->add_option("--trials", options->trials, "Inputs that an answer must fail one of")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->callback([options, &exit] { exit = audit(*options); });
}

}  // namespace pkb::cli
