// SPDX-License-Identifier: Apache-2.0
#include "harness/report/site/data_file.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>

#include "harness/error/error.h"

namespace pkb::report {

using nlohmann::json;

namespace {

void write_script(const std::filesystem::path& folder, std::string_view name, std::string_view value) {
  const std::filesystem::path file = folder / "data" / fmt::format("{}.js", name);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out << "pkb_data(" << json(name).dump() << ',' << value << ");\n";
  out.close();
  if (!out) throw EnvironmentError({.where = file.string(), .fault = "cannot be written", .remedy = {}});
}

}  // namespace

void write_data(const std::filesystem::path& folder, std::string_view name, const json& value) {
  write_script(folder, name, value.dump(-1, ' ', true, json::error_handler_t::replace));
}

void write_data(const std::filesystem::path& folder, std::string_view name, const JsonText& value) {
  write_script(folder, name, value.text());
}

json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr);
}

json numbers(const Estimate& estimate) {
  if (!std::isfinite(estimate.value)) return nullptr;
  return {number(estimate.value), number(estimate.low), number(estimate.high)};
}

std::string page_of(Index evaluation) {
  return fmt::format("candidate.html#{}.{}", evaluation / kDetailsPerFile, evaluation % kDetailsPerFile);
}

std::string page_of(const Report& report, Index problem) {
  const Problem& which = report.problems[problem];
  return which.is_known ? which.folder : fmt::format("unknown-{}", problem);
}

}  // namespace pkb::report
