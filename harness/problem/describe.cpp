// SPDX-License-Identifier: Apache-2.0
// pkb-describe PROBLEM_JSON HEADER: what the build runs for each problem. It refuses a description that is
// invalid or that does not resolve at one of its sizes, and writes the header which candidates include.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>

#include "harness/error/error.h"
#include "harness/problem/problem.h"

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    throw pkb::EnvironmentError({path.string(), "cannot be written", "check the folder and the disk"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: pkb-describe PROBLEM_JSON HEADER\n");
    return 2;
  }
  try {
    const auto problem = pkb::problem::Problem::load(std::filesystem::path(argv[1]).parent_path());
    problem.check_sizes();
    write(argv[2], problem.candidate_header());
    return 0;
  } catch (const pkb::InputError& error) {
    fmt::print(stderr, "pkb-describe: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "pkb-describe: {}\n", error.what());
    return 3;
  }
}
