// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/job_options.h"
#include "harness/cli/report_lines.h"
#include "harness/store/store.h"

namespace pkb::cli {
namespace {

struct ExportOptions : JobOptions {
  std::string out;
};

void export_trial(const ExportOptions& options) {
  const PrivateFolder folder;
  PreparedJob prepared = prepare(options, folder);
  store::require_writable(options.out);
  prepared.job.mode = launch::Job::Mode::exporting;
  prepared.job.trials = 1;
  prepared.job.export_folder = std::filesystem::absolute(options.out);
  const nlohmann::json result = launch::run_judges(prepared.job);
  if (options.json) {
    fmt::print("{}\n", result.dump());
    return;
  }
  fmt::print("{}\ninputs, golden and baseline outputs of each rank: {}\n", headline(prepared),
             (prepared.job.export_folder / "index.json").string());
}

}  // namespace

void add_export(CLI::App& pkb) {
  auto options = std::make_shared<ExportOptions>();
  CLI::App* command = pkb.add_subcommand(
      "export",
      "Write one trial's inputs, golden and baseline outputs as .npy files, per rank, with an index");
  add_job_options(*command, *options);
  command->add_option("--out", options->out, "Folder for the files")->required();
  command->callback([options] { export_trial(*options); });
}

}  // namespace pkb::cli
