// SPDX-License-Identifier: Apache-2.0
// The headers of all problems must compile: a tensor called `new` or a parameter called `int` shows here.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/candidate/source.h"
#include "harness/process/run_limited.h"

namespace pkb::candidate {
namespace {

/// One source for all headers, since each costs only its own few lines once the CUDA headers are read. What
/// two headers both define gets a name of its own.
std::string source_with_all_headers() {
  std::string source;
  int number = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PKB_GENERATED_HEADERS "/pkb")) {
    for (const char* name :
         {"Args", "args_of", "pkb_candidate_abi", "pkb_candidate_problem", "pkb_candidate_has_run",
          "pkb_candidate_setup", "pkb_candidate_run", "pkb_candidate_teardown"})
      source += fmt::format("#undef {0}\n#define {0} {0}_{1}\n", name, number);
    // Unlike a candidate, this source has several functions called run, so the headers name theirs.
    source += fmt::format("#undef run\n#undef setup\n#define run run_{0}\n#define setup setup_{0}\n", number);
    source += fmt::format("#include <pkb/{}>\n", entry.path().filename().string());
    ++number;
  }
  EXPECT_GE(number, 9);
  return source;
}

process::Result compile_on_host(const std::string& source) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / fmt::format("pkb_headers_{}.cpp", getpid());
  write_file(file, source);
  const process::Result result = process::run_limited(
      {PKB_CXX, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", PKB_GENERATED_HEADERS,
       "-I", PKB_CANDIDATE_HEADERS, "-isystem", PKB_CUDA_HEADERS, file.string()},
      {"PATH=/usr/bin:/bin", "LC_ALL=C"}, "/", {});
  std::filesystem::remove(file);
  return result;
}

TEST(GeneratedHeaders, Compile) {
  const process::Result result = compile_on_host(source_with_all_headers());
  EXPECT_EQ(result.exit_code, 0) << result.text;
}

TEST(GeneratedHeaders, TwoProblemsInOneCandidateDoNot) {
  EXPECT_NE(compile_on_host("#include <pkb/allreduce.h>\n#include <pkb/allgather.h>\n").exit_code, 0);
}

}  // namespace
}  // namespace pkb::candidate
