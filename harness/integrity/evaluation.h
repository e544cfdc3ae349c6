// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/cli/process.h"

/// Evaluations of hostile candidates, and what they may not leave behind.
namespace pkb::integrity {

/// Where evaluations keep their temporary files. Processes come to us when their parents die.
class Machine {
 public:
  Machine();
  std::filesystem::path temporary() const { return x_temporary.path(); }
  /// What is left: "file NAME" or "process NUMBER", after some patience with those that are ending.
  std::vector<std::string> leftovers() const;

 private:
  cli::TestFolder x_temporary;
};

struct Settings {
  int ranks = 2, trials = 3;
  const char* device = "virtual";
  const char* sandbox = "bubblewrap";
  double timeout = 3;  ///< seconds for a run
  int choice = -1;     ///< which of `join_all`
};

/// `pkb eval 1 SOURCE` with a result in `out`.
cli::Command command(const std::filesystem::path& source, const Settings& settings, const Machine& machine,
                     const std::filesystem::path& out);

struct Evaluated {
  int exit = 0;
  std::string verdict, diagnoses, worker_output;
};
/// @throws std::runtime_error when there is no result.
Evaluated evaluate(const std::filesystem::path& source, const Settings& settings, const Machine& machine);

/// The text of the candidate NAME of this room.
std::string trick(const std::string& name);

/// That candidate in `folder`, the honest part that all have before it.
std::filesystem::path join(const std::string& name, const cli::TestFolder& folder);

/// Several candidates of this room in one source, since compiling costs more than evaluating.
/// `Settings::choice` is the index of the one that acts. Nothing of ours reaches a candidate but its tensors
/// and the limits of processes, so one of these says which: the limit of message queues, of which there are
/// none.
std::filesystem::path join_all(const std::vector<std::string>& names, const cli::TestFolder& folder);

/// A solution that is right.
std::filesystem::path good_candidate();

std::string read(const std::filesystem::path& file);

}  // namespace pkb::integrity
