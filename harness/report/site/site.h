// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/report/report.h"

namespace pkb::report {

struct Site {
  std::filesystem::path folder;  ///< is made when it does not exist; files of an earlier report are replaced
  std::filesystem::path source;  ///< the repository: templates, assets, statements and references of problems
  std::filesystem::path libraries = "/usr/share/javascript";  ///< where the distribution puts those we use
  int threads = 0;                                            ///< 0: as many as there are cores
};

/// A site of pages that need no server and ask no network: `folder`/index.html opens from disk. Texts of candidates,
/// models and results reach a page as JSON or escaped, and every page forbids all scripts but its own files.
/// @throws EnvironmentError when a library is missing or a file cannot be written
void write_site(const Report& report, const std::optional<Comparison>& comparison, const Site& site);

}  // namespace pkb::report
