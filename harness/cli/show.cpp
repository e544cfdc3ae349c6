// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/commands.h"
#include "harness/cli/installation.h"
#include "harness/problem/problem.h"

namespace pkb::cli {
namespace {

struct ShowOptions {
  std::string problem;
  bool json = false;
};

std::string read(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void print_tensors(const char* heading, const std::vector<problem::Tensor>& tensors) {
  fmt::print("  {}\n", heading);
  for (const problem::Tensor& each : tensors)
    fmt::print("    {:<12} {:<8} ({})\n", each.name, name_of(each.dtype), fmt::join(each.shape, ", "));
}

void print_size(const problem::Problem& problem, const std::string& size) {
  const std::vector<int> ranks = problem.ranks(size);
  fmt::print("\nsize {}: W = {}\n", size, fmt::join(ranks, ", "));
  const auto instances = problem.instances({.size = size});
  for (const problem::Instance& instance : instances) {
    std::vector<std::string> symbols;
    for (const auto& [name, value] : instance.symbols) symbols.push_back(fmt::format("{} = {}", name, value));
    fmt::print("  {}{}\n", instance.variant == 0 ? "" : fmt::format("variant {}: ", instance.variant),
               fmt::join(symbols, ", "));
  }
  print_tensors("inputs on rank 0", instances.front().tensors_of.front().inputs);
  print_tensors("outputs on rank 0", instances.front().tensors_of.front().outputs);
}

void print_problem(const ShowOptions& options) {
  const problem::Problem problem = problem::find(installation().problems(), options.problem);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json::parse(problem.text()).dump());
    return;
  }
  fmt::print("{:03} {}: {}\n\n{}\n", problem.id(), problem.name(), problem.title(), problem.workload());
  fmt::print("\nfamily {}; {}\n", problem.family(), problem.parallelism());
  for (const std::string& size : problem.sizes()) print_size(problem, size);
  fmt::print("\n--- README.md ---\n{}\n--- {} ---\n{}", read(problem.folder() / "README.md"), "reference.cpp",
             read(problem.folder() / "reference.cpp"));
  fmt::print("\n--- <pkb/{}.h>, which a candidate includes ---\n{}", problem.name(),
             problem.candidate_header());
}

}  // namespace

void add_show(CLI::App& pkb) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command = pkb.add_subcommand(
      "show",
      "One problem whole: what it computes, sizes, inputs, outputs, reference, the header for candidates");
  command->add_option("problem", options->problem, "Number or name, see `pkb list`")->required();
  command->add_flag("--json", options->json, "problem.json as one JSON object on standard output");
  command->callback([options] { print_problem(*options); });
}

}  // namespace pkb::cli
