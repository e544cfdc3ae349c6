// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace pkb::process {

struct Limits {
  std::chrono::milliseconds time{120'000};
  std::uint64_t address_space = std::uint64_t{6} << 30;  ///< bytes, of each process
  std::uint64_t file_size = std::uint64_t{256} << 20;    ///< bytes, of each file written
  std::size_t text = std::size_t{1} << 20;               ///< bytes kept of what it prints
};

struct Result {
  int exit_code = 0;       ///< 128 + n after signal n
  bool timed_out = false;  ///< it was killed because its time was up
  std::string text;        ///< standard output and error in the order printed, as CapturedOutput keeps it
};

/// Runs arguments[0] (an absolute path) with exactly this environment, empty standard input and `descriptors` of ours
/// as 3, 4..., and returns when nothing of its process group is left. The group also ends when the caller's thread does.
/// @throws EnvironmentError when the program cannot be executed.
Result run_limited(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                   const std::filesystem::path& folder, const Limits& limits, const std::vector<int>& descriptors = {});

}  // namespace pkb::process
