// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/cli/installation.h"
#include "harness/launch/job.h"
#include "harness/problem/problem.h"
#include "harness/process/private_folder.h"

/// What `eval`, `baseline` and `export` have in common: a problem at a size, on ranks, on a device.
namespace pkb::cli {

struct JobOptions {
  std::string problem, size = "tiny", dtype = "bf16", device = "auto", chip = "h200", sandbox = "bubblewrap";
  int ranks = 0, trials = 5, schedules = 1;
  std::string checks = "on", timing = "on";
  double timeout = 30;
  std::optional<std::uint64_t> seed;
  std::string import_folder;
  bool json = false, verbose = false;
};

void add_job_options(CLI::App& command, JobOptions& options);
void add_timing_option(CLI::App& command, JobOptions& options);

/// What judges need while they run, where temporary files lie. @throws EnvironmentError
class PrivateFolder {
 public:
  PrivateFolder();
  const std::filesystem::path& path() const { return x_folder->path(); }

 private:
  std::optional<process::PrivateFolder> x_folder;
};

/// The options resolved: the problem exists, its constraints hold, the device is there.
struct PreparedJob {
  Installation installation;
  problem::Problem problem;
  launch::Job job;            ///< mode and candidate are the command's to fill in
  std::string device_reason;  ///< why --device auto chose what it did; empty otherwise
  std::string architecture;   ///< that candidates are compiled for, as nvcc names it: "90a"
};

/// @throws InputError, EnvironmentError
PreparedJob prepare(const JobOptions& options, const PrivateFolder& folder);

/// "001_allreduce  tiny  bf16  W = 4  virtual (h200)  seed 7", with the reason for the device.
std::string headline(const PreparedJob& prepared);

}  // namespace pkb::cli
