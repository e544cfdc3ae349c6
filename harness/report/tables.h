// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <variant>

#include "harness/report/report.h"

namespace pkb::report {

/// Nothing is what is undefined or missing: an empty field of CSV, null in JSON.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Rows are made when they are asked for: there may be 100,000.
struct Table {
  std::string name{};
  std::vector<std::string> columns{};
  std::size_t size = 0;
  std::function<std::vector<Value>(std::size_t row)> row{};
};

/// Everything that pages show as figures. The tables refer to `report` and `comparison`.
std::vector<Table> tables(const Report& report, const std::optional<Comparison>& comparison);

/// RFC 4180. Text that a spreadsheet would take for a formula gets a ' before it.
std::string csv_of(const Table& table);
/// A list of objects.
std::string json_of(const Table& table);

/// Short enough for a pull request: boards, what changed, what was not taken. Foreign text is shown as code.
std::string summary(const Report& report, const std::optional<Comparison>& comparison);

/// FOLDER/summary.md, kReportMark, FOLDER/tables/NAME.csv and .json. @throws EnvironmentError
void write_tables(const Report& report, const std::optional<Comparison>& comparison,
                  const std::filesystem::path& folder);

}  // namespace pkb::report
