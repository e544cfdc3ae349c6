// SPDX-License-Identifier: Apache-2.0
#include "harness/campaign/ledger.h"

#include <fmt/format.h>

#include <fstream>

#include "harness/error/error.h"
#include "harness/store/store.h"

namespace pkb::campaign {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::optional<json> read(const fs::path& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  json value = json::parse(in, nullptr, false);
  if (value.is_discarded())
    throw InputError({.where = file.string(), .fault = "is not JSON", .remedy = "remove it to ask again"});
  return value;
}

void write(const fs::path& file, const json& value) {
  store::write_whole(file, value.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

std::string part_suffix(const Attempt& which) { return fmt::format(".part-{}.json", which.part); }

}  // namespace

Ledger::Ledger(fs::path folder, const json& settings) : x_folder(std::move(folder)) {
  store::require_writable(x_folder);
  const fs::path file = x_folder / "campaign.json";
  const std::optional<json> before = read(file);
  if (!before) {
    json campaign = settings;
    campaign["id"] = store::new_id();  // keeps samples of equal campaigns apart where results meet
    write(file, campaign);
    return;
  }
  for (const auto& [name, value] : settings.items())
    if (before->value(name, json()) != value)
      throw InputError({.where = file.string(),
                        .fault = fmt::format("the campaign there has {} = {}, not {}", name,
                                             before->value(name, json()).dump(), value.dump()),
                        .remedy = "choose another --out, or the same settings to go on"});
}

std::optional<json> Ledger::attempt(const Attempt& which) const { return read(path(which, ".json")); }

void Ledger::keep_attempt(const Attempt& which, const json& attempt, const std::string& code) {
  fs::create_directories(path(which, "").parent_path());
  // The record comes last: an attempt that has one has its candidate.
  if (!code.empty()) store::write_whole(candidate(which), code);
  write(path(which, ".json"), attempt);
}

std::optional<json> Ledger::part(const Attempt& which) const { return read(path(which, part_suffix(which))); }

void Ledger::keep_part(const Attempt& which, const json& part) {
  fs::create_directories(path(which, "").parent_path());
  write(path(which, part_suffix(which)), part);
}

std::optional<json> Ledger::result(const Attempt& which) const { return read(path(which, ".result.json")); }

void Ledger::keep_result(const Attempt& which, const json& result) { write(path(which, ".result.json"), result); }

fs::path Ledger::path(const Attempt& which, std::string_view suffix) const {
  return x_folder / which.problem / fmt::format("sample-{}", which.sample) /
         fmt::format("attempt-{}{}", which.number, suffix);
}

}  // namespace pkb::campaign
