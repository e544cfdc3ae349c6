// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "harness/report/report.h"

namespace pkb::report {

struct Merged {
  int written = 0;
  int unjudged = 0;  ///< replies with code that nobody evaluated: left out
  std::vector<Notice> notices{};
};

/// Copies every evaluation below `paths` to FOLDER/ID.json. A campaign's get the member "submission": model,
/// settings, sample, attempt, prompt, reply, tokens and price; with it a file stands alone. What contradicts
/// another result, in `folder` too, is not copied. @throws InputError, EnvironmentError
Merged merge(const std::vector<std::filesystem::path>& paths, const std::filesystem::path& folder);

}  // namespace pkb::report
