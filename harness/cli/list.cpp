// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/installation.h"
#include "harness/problem/problem.h"

namespace pkb::cli {
namespace {

void print_list(bool json) {
  const std::vector<problem::Problem> problems = problem::load_all(installation().problems());
  nlohmann::json rows = nlohmann::json::array();
  for (const problem::Problem& each : problems) {
    rows.push_back({{"id", each.id()},
                    {"name", each.name()},
                    {"family", each.family()},
                    {"title", each.title()},
                    {"sizes", each.sizes()}});
    if (!json) fmt::print("{:03}  {:<24}  {:<28}  {}\n", each.id(), each.name(), each.family(), each.title());
  }
  if (json) fmt::print("{}\n", nlohmann::json{{"problems", rows}}.dump());
}

}  // namespace

void add_list(CLI::App& pkb) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = pkb.add_subcommand("list", "All problems, a line each");
  command->add_flag("--json", *json, "One JSON object on standard output");
  command->callback([json] { print_list(*json); });
}

}  // namespace pkb::cli
