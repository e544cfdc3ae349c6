// SPDX-License-Identifier: Apache-2.0
#include "harness/report/merge.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"
#include "harness/report/collect.h"
#include "harness/report/files.h"
#include "harness/store/migration.h"
#include "harness/store/store.h"

namespace pkb::report {
namespace {

using nlohmann::json;

constexpr std::string_view kResult = ".result.json";

json read_json(const std::string& file) {
  std::string text;
  try {
    read_file(file, text);
    json value = json::parse(text);
    store::migration().apply(value);
    return value;
  } catch (const std::exception& error) {
    throw InputError({.where = file, .fault = error.what(), .remedy = "has it changed meanwhile?"});
  }
}

/// `reply` is the attempt as the campaign has kept it.
json submission_of(const Record& record, const json& reply) {
  const Submission& from = *record.submission;
  json submission = {{"name", from.name},
                     {"kind", "model"},
                     {"settings", from.settings},
                     {"campaign", from.campaign},
                     {"sample", from.sample},
                     {"attempt", from.attempt},
                     {"prompt", reply.at("message")},
                     {"reply", reply.at("text")},
                     {"usage", reply.at("usage")}};
  if (const double price = record.evaluation.usage->price; !std::isnan(price)) submission["price"] = price;
  return submission;
}

/// A result for a reply that held no code.
json no_code(const Record& record, const json& reply) {
  const std::string& folder = record.problem_name;
  json result = {{"schema", store::kSchema},
                 {"id", record.evaluation.id},
                 {"problem", {{"id", std::stoi(folder)}, {"name", folder.substr(folder.find('_') + 1)}}},
                 {"dtype", record.place.dtype},
                 {"verdict", name_of(Verdict::no_code)},
                 {"diagnoses",
                  {{{"verdict", name_of(Verdict::no_code)},
                    {"rank", -1},
                    {"trial", -1},
                    {"text", reply.at("no_code")}}}},
                 {"submission", submission_of(record, reply)}};
  if (!record.place.size.empty()) result["size"] = record.place.size;
  return result;
}

json whole(const Record& record, const std::string& file) {
  json value = read_json(file);
  if (value.contains("exchanges")) return no_code(record, value);
  if (file.ends_with(kResult) && record.submission)
    value["submission"] =
        submission_of(record, read_json(file.substr(0, file.size() - kResult.size()) + ".json"));
  return value;
}

}  // namespace

Merged merge(const std::vector<std::filesystem::path>& paths, const std::filesystem::path& folder) {
  store::require_writable(folder);
  std::vector<std::filesystem::path> all = paths;
  all.push_back(folder);
  Collection collection = collect(all, 0);
  Merged merged;
  for (const Record& record : collection.records) {
    const std::string& file = collection.files[record.evaluation.file];
    if (record.kind == Record::Kind::reply && record.has_candidate) {
      ++merged.unjudged;
      continue;
    }
    if (std::filesystem::equivalent(std::filesystem::absolute(file).parent_path(), folder)) continue;
    store::write_result(whole(record, file), folder);
    ++merged.written;
  }
  merged.notices = std::move(collection.notices);
  return merged;
}

}  // namespace pkb::report
