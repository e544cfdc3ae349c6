// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

#include "harness/report/files.h"
#include "harness/report/tables.h"
#include "harness/store/store.h"

namespace pkb::report {
namespace {

std::string csv_text(std::string_view text) {
  std::string field = "\"";
  // Programs look for a formula after leading spaces too.
  const std::size_t start = text.find_first_not_of(" ");
  if (start != std::string_view::npos &&
      std::string_view("=+-@\t\r\n|%").find(text[start]) != std::string_view::npos)
    field += '\'';
  for (const char c : text) {
    if (c == '"') field += '"';
    if (c != '\0') field += c;
  }
  return field + '"';
}

struct CsvField {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(std::int64_t value) const { return fmt::to_string(value); }
  std::string operator()(double value) const {
    return std::isfinite(value) ? fmt::to_string(value) : std::string();
  }
  std::string operator()(const std::string& text) const { return csv_text(text); }
};

struct JsonValue {
  nlohmann::json operator()(std::monostate) const { return nullptr; }
  nlohmann::json operator()(double value) const {
    return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json();
  }
  template <class T>
  nlohmann::json operator()(const T& value) const {
    return value;
  }
};

std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string csv_of(const Table& table) {
  std::string csv;
  const auto add_line = [&](const auto& fields, const auto& text) {
    const char* separator = "";
    for (const auto& each : fields) {
      csv += std::exchange(separator, ",");
      csv += text(each);
    }
    csv += "\r\n";
  };
  add_line(table.columns, [](const std::string& name) { return name; });
  for (std::size_t i = 0; i < table.size; ++i)
    add_line(table.row(i), [](const Value& value) { return std::visit(CsvField(), value); });
  return csv;
}

std::string json_of(const Table& table) {
  std::vector<std::string> names;
  for (const std::string& each : table.columns) names.push_back(dump(each));
  std::string json = "[";
  for (std::size_t i = 0; i < table.size; ++i) {
    json += i == 0 ? "\n{" : ",\n{";
    const std::vector<Value> row = table.row(i);
    for (std::size_t column = 0; column < row.size(); ++column)
      fmt::format_to(std::back_inserter(json), "{}{}:{}", column == 0 ? "" : ",", names[column],
                     dump(std::visit(JsonValue(), row[column])));
    json += '}';
  }
  return json + "\n]\n";
}

void write_tables(const Report& report, const std::optional<Comparison>& comparison,
                  const std::filesystem::path& folder) {
  store::require_writable(folder / "tables");
  store::write_whole(folder / kReportMark, "");
  for (const Table& each : tables(report, comparison)) {
    store::write_whole(folder / "tables" / (each.name + ".csv"), csv_of(each));
    store::write_whole(folder / "tables" / (each.name + ".json"), json_of(each));
  }
  store::write_whole(folder / "summary.md", summary(report, comparison));
}

}  // namespace pkb::report
