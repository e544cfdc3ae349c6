// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "harness/report/json_text.h"
#include "harness/report/report.h"

/// What pages read. A page that was opened from disk may fetch nothing, but it may load scripts: data are scripts that
/// hand one JSON value over.
namespace pkb::report {

/// Writes `folder`/data/NAME.js. Pure ASCII, so that no text can be taken for anything but a string.
void write_data(const std::filesystem::path& folder, std::string_view name, const nlohmann::json& value);
/// `value` has ASCII letters.
void write_data(const std::filesystem::path& folder, std::string_view name, const JsonText& value);

/// Five significant digits; null for kNone and infinities.
nlohmann::json number(double value);
/// [value, low, high]
nlohmann::json numbers(const Estimate& estimate);

/// Evaluations in one file of details.
inline constexpr std::size_t kDetailsPerFile = 16;

/// Where the page of an evaluation is, from the root of the site.
std::string page_of(Index evaluation);
/// The name of a problem's page in problems/, without suffix. Never made of what a result says.
std::string page_of(const Report& report, Index problem);

}  // namespace pkb::report
