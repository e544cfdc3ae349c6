// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/process/child.h"

namespace pkb::launch {

/// NVIDIA's Multi-Process Service for the ranks that share a GPU: with it they run at once, without it they
/// take turns. The daemon is ours alone, lives in the run folder and ends with the object; one that others
/// started is neither used nor touched.
class Mps {
 public:
  /// Turns: no daemon.
  Mps() = default;
  /// Starts a daemon if that is possible here; otherwise `note()` says why not.
  explicit Mps(const std::filesystem::path& run_folder);
  Mps(Mps&&) = default;
  Mps& operator=(Mps&&) = default;
  ~Mps();

  bool running() { return x_daemon.running(); }
  const std::string& note() const { return x_note; }
  const std::filesystem::path& pipe_folder() const { return x_pipes; }

 private:
  std::filesystem::path x_control, x_pipes, x_logs;
  std::string x_note;
  process::Child x_daemon;
};

}  // namespace pkb::launch
