// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/exported.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"

namespace pkb::judge {
namespace {

constexpr std::string_view kRoleNames[] = {"input", "golden", "baseline"};

}  // namespace

std::string_view name_of(Role role) { return kRoleNames[static_cast<std::size_t>(role)]; }

std::string exported_name(int rank, Role role, std::string_view tensor) {
  return fmt::format("rank{}.{}.{}.npy", rank, name_of(role), tensor);
}

void check_index(const launch::Job& job, const problem::Instance& instance) {
  const std::filesystem::path path = job.import_folder / "index.json";
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return;  // arrays from elsewhere: their own dtypes and shapes are checked
  if (!std::filesystem::is_regular_file(path, error))
    throw InputError({.where = path.string(), .fault = "is no regular file", .remedy = {}});
  std::ifstream file(path);
  const nlohmann::json index = nlohmann::json::parse(file, nullptr, false);
  if (!index.is_object())
    throw InputError({.where = path.string(), .fault = "is no JSON object", .remedy = {}});
  const nlohmann::json wanted = {{"problem", instance.folder},
                                 {"size", instance.size},
                                 {"ranks", instance.ranks},
                                 {"dtype", name_of(instance.dtype)}};
  for (const auto& [key, value] : wanted.items())
    if (index.value(key, nlohmann::json()) != value)
      throw InputError({.where = path.string(),
                        .fault = fmt::format("{} is {}, but this run has {}", key,
                                             index.value(key, nlohmann::json()).dump(), value.dump()),
                        .remedy = "import what was exported with the same options"});
}

}  // namespace pkb::judge
