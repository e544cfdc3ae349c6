// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "harness/report/report.h"

namespace pkb::cli {

/// Everything that a report consists of, in `folder`.
void write_report(const report::Report& report, const std::optional<report::Comparison>& comparison,
                  const std::filesystem::path& folder);

/// Says on standard error what was not taken, the gravest first, at most a few.
void warn_of(const std::vector<report::Notice>& notices);

/// Whether something there contradicts itself or is broken.
bool has_fault(const std::vector<report::Notice>& notices);

}  // namespace pkb::cli
