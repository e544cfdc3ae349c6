// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <utility>

#include "harness/report/files.h"
#include "harness/report/json_text.h"
#include "harness/report/tables.h"
#include "harness/store/store.h"

namespace pkb::report {
namespace {

void append_text(std::string& csv, std::string_view text) {
  csv += '"';
  // Programs look for a formula after leading spaces too.
  const std::size_t start = text.find_first_not_of(' ');
  if (start != std::string_view::npos &&
      std::string_view("=+-@\t\r\n|%").find(text[start]) != std::string_view::npos)
    csv += '\'';
  for (const char c : text) {
    if (c == '"') csv += '"';
    if (c != '\0') csv += c;
  }
  csv += '"';
}

/// Appends a value as a field of CSV.
struct CsvField {
  std::string& csv;

  void operator()(std::monostate) const {}
  void operator()(std::int64_t value) const { fmt::format_to(std::back_inserter(csv), "{}", value); }
  void operator()(double value) const {
    if (std::isfinite(value)) fmt::format_to(std::back_inserter(csv), "{}", value);
  }
  void operator()(const std::string& text) const { append_text(csv, text); }
};

struct JsonValue {
  JsonText& json;

  void operator()(std::monostate) const { json.add(nullptr); }
  void operator()(const auto& value) const { json.add(value); }
};

}  // namespace

std::string csv_of(const Table& table) {
  std::string csv = fmt::format("{}\r\n", fmt::join(table.columns, ","));
  for (std::size_t i = 0; i < table.size; ++i) {
    const char* separator = "";
    for (const Value& each : table.row(i)) {
      csv += std::exchange(separator, ",");
      std::visit(CsvField{csv}, each);
    }
    csv += "\r\n";
  }
  return csv;
}

std::string json_of(const Table& table) {
  JsonText json;
  json.open('[');
  for (std::size_t i = 0; i < table.size; ++i) {
    json.open('{');
    const std::vector<Value> row = table.row(i);
    for (std::size_t column = 0; column < row.size(); ++column) {
      json.key(table.columns[column]);
      std::visit(JsonValue{json}, row[column]);
    }
    json.close('}').end_line();
  }
  return json.close(']').end_line().take();
}

void write_tables(const Report& report, const std::optional<Comparison>& comparison,
                  const std::filesystem::path& folder) {
  store::require_writable(folder / "tables");
  store::write_unsynced(folder / kReportMark, "");
  for (const Table& each : tables(report, comparison)) {
    store::write_unsynced(folder / "tables" / (each.name + ".csv"), csv_of(each));
    store::write_unsynced(folder / "tables" / (each.name + ".json"), json_of(each));
  }
  store::write_unsynced(folder / "summary.md", summary(report, comparison));
}

}  // namespace pkb::report
