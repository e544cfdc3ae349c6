// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/report/site/site.h"

namespace pkb::cli {

/// Everything that a report consists of, in `folder`: tables, a summary, then the site. `libraries`: as in report::Site.
void write_report(const report::Report& report, const std::optional<report::Comparison>& comparison,
                  const std::filesystem::path& folder, const std::filesystem::path& libraries = report::Site().libraries);

/// Says on standard error what was not taken, the gravest first, at most a few.
void warn_of(const std::vector<report::Notice>& notices);

/// Whether something there contradicts itself or is broken.
bool has_fault(const std::vector<report::Notice>& notices);

}  // namespace pkb::cli
