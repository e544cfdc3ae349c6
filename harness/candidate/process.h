// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pkb::candidate {

struct ProcessLimits {
  std::chrono::milliseconds time{120'000};
  std::uint64_t address_space = std::uint64_t{6} << 30;  ///< bytes, of each process
  std::uint64_t file_size = std::uint64_t{256} << 20;    ///< bytes, of each file written
  std::size_t text = std::size_t{1} << 20;               ///< bytes kept of what it prints
};

struct ProcessResult {
  int exit_code = 0;       ///< 128 + n after signal n
  bool timed_out = false;  ///< it was killed because its time was up
  std::string text;  ///< standard output and error in the order printed; the middle left out when too long
};

/// Runs argv[0] (an absolute path) with exactly this environment and empty standard input, in a process group
/// of its own, and returns when nothing of the group is left. The group also ends when the caller's thread
/// does.
/// @throws EnvironmentError when the process cannot be started.
ProcessResult run_limited(const std::vector<std::string>& argv, const std::vector<std::string>& environment,
                          const std::filesystem::path& folder, const ProcessLimits& limits);

}  // namespace pkb::candidate
