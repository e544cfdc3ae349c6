// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/report/record.h"

namespace pkb::report {

/// What a set of paths holds: every evaluation once, with its submission where a campaign or the result
/// itself says it.
struct Collection {
  std::vector<std::string> files;
  std::vector<Record> records;  ///< results, and replies that have none; `evaluation.file` is set
  std::vector<Notice> notices;  ///< by file
};

/// Symbolic links within a folder are not followed; of `paths` themselves they are.
/// @throws InputError for a path that does not exist
Collection collect(const std::vector<std::filesystem::path>& paths, int threads);

}  // namespace pkb::report
