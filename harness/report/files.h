// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/report/report.h"

namespace pkb::report {

/// JSON files below `paths`, sorted, each once, and what was passed over.
struct Listing {
  std::vector<std::string> files;
  std::vector<Notice> notices;
};
/// @throws InputError for a path that does not exist
Listing list_files(const std::vector<std::filesystem::path>& paths);

/// Stands in a folder that `pkb report` wrote: its tables are JSON too, but no results.
inline constexpr const char* kReportMark = ".pkb-report";

inline constexpr std::size_t kLargestFile = 32 << 20;

/// Replaces `text` by a regular file's content and gives it `padding` bytes of capacity more.
/// @throws std::runtime_error in one sentence: larger than kLargestFile, no regular file...
void read_file(const std::filesystem::path& file, std::string& text, std::size_t padding = 0);

}  // namespace pkb::report
