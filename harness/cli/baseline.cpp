// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/job_options.h"
#include "harness/cli/report_lines.h"
#include "harness/store/verdict.h"

namespace pkb::cli {
namespace {

Exit check_baseline(const JobOptions& options) {
  const PrivateFolder folder;
  PreparedJob prepared = prepare(options, folder);
  prepared.job.mode = launch::Job::Mode::baseline;
  const nlohmann::json result = launch::run_judges(prepared.job);
  const bool correct = result.at("verdict") == name_of(Verdict::correct);
  if (options.json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{}\n", headline(prepared));
    fmt::print("{}", correct ? fmt::format("the baseline agrees with the golden values in {} trials\n",
                                           prepared.job.trials)
                             : diagnosis_lines(result));
    fmt::print("{}", output_lines(result));
    fmt::print("{}", timing_lines(result));
    if (options.verbose) fmt::print("{}", phase_table(result.at("phases")));
  }
  return correct ? Exit::done : Exit::candidate_failed;
}

}  // namespace

void add_baseline(CLI::App& pkb, Exit& exit) {
  auto options = std::make_shared<JobOptions>();
  CLI::App* command = pkb.add_subcommand(
      "baseline", "Check the reference alone: run dtype against fp64, and on cuda its time");
  add_job_options(*command, *options);
  command->add_option("--trials", options->trials, "Runs with different inputs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  add_timing_option(*command, *options);
  command->callback([options, &exit] { exit = check_baseline(*options); });
}

}  // namespace pkb::cli
