// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

/// Results as a person reads them.
namespace pkb::cli {

/// One line per diagnosis, the gravest first, at most `most` and a count of the rest.
std::string diagnosis_lines(const nlohmann::json& result, std::size_t most = 8);

/// A line per phase, milliseconds and share.
std::string phase_table(const nlohmann::json& phases);

/// Shows what the judges do now: on a terminal one line that the next replaces, elsewhere a line each.
/// Erases itself from the terminal when it goes.
class ProgressLine {
 public:
  explicit ProgressLine(bool wanted);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::string_view text);

 private:
  bool x_wanted, x_terminal;
};

/// A line per output: the worst of all trials.
std::string output_lines(const nlohmann::json& result);

/// What kernels moved between virtual GPUs in the run where that was the most, over the problem's minimum; empty where
/// nothing has to be moved. Copies by the host's calls are not among it.
std::string link_line(const nlohmann::json& result);

/// Times and speedup, where there was timing; else empty.
std::string timing_lines(const nlohmann::json& result);

}  // namespace pkb::cli
