// SPDX-License-Identifier: Apache-2.0
// Sources that attack the compiler's side: each ends in an error of its own or at a limit, soon and in few
// words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>

#include "harness/candidate/compile.h"

namespace pkb::integrity {
namespace {

namespace fs = std::filesystem;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class CompilerMeets : public testing::Test {
 protected:
  CompilerMeets() : x_folder(fs::path(testing::TempDir()) / ("pkb_attack_" + std::to_string(::getpid()))) {
    fs::create_directories(x_folder);
  }
  ~CompilerMeets() override { fs::remove_all(x_folder); }

  /// With small limits, so that a limit that fails does no harm.
  candidate::CompileResult compile(const fs::path& source) const {
    return candidate::compile({.source = source,
                               .problem = 1,
                               .include_folders = {PKB_GENERATED_HEADERS, PKB_CANDIDATE_HEADERS},
                               .toolkit = {},
                               .cache = x_folder / "cache",
                               .limits = {.time = std::chrono::seconds(4),
                                          .address_space = std::uint64_t{1} << 30,
                                          .file_size = 16 << 20,
                                          .text = 32 << 10}});
  }
  fs::path write(const std::string& text, const std::string& name = "attack.cu") const {
    std::ofstream(x_folder / name) << text;
    return x_folder / name;
  }

  fs::path x_folder;
};

struct Source {
  const char* name;  // in compile/
  const char* text;  // a regular expression in what is told
};
void PrintTo(const Source& source, std::ostream* to) { *to << source.name; }
class CompilerMeetsSource : public CompilerMeets, public testing::WithParamInterface<Source> {};

TEST_P(CompilerMeetsSource, AndSaysSo) {
  ::setenv("PKB_TEST_KEY", "SECRET", 1);
  const candidate::CompileResult result =
      compile(fs::path(PKB_ATTACKS) / (GetParam().name + std::string(".cu")));
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.limit + result.text, ContainsRegex(GetParam().text));
  EXPECT_LT(result.text.size(), 34u << 10);
  EXPECT_LT(result.seconds, 20);
  for (const char* foreign : {"SECRET", "root:"}) EXPECT_THAT(result.text, Not(HasSubstr(foreign)));
}

INSTANTIATE_TEST_SUITE_P(
    Sources, CompilerMeetsSource,
    testing::Values(
        Source{"incbin", "stopped after 4 s|No such file or directory|file not found"},
        Source{"environment", "the end"}, Source{"endless_file", "stopped after 4 s|error|needed more than"},
        Source{"plugin", "the end"},
        Source{"templates", "stopped after 4 s|needed more than 1024 MiB|instantiation"},
        Source{"macros", "stopped after 4 s|needed more than 1024 MiB"},
        Source{"constants", "stopped after 4 s|constant|needed more than 1024 MiB"},
        Source{"array", "stopped after 4 s|wrote a file of more than 16 MiB|needed more than 1024 MiB"},
        Source{"assembler",
               "stopped after 4 s|wrote a file of more than 16 MiB|needed more than 1024 MiB|too large"},
        Source{"errors", "stopped after 4 s|bytes left out|the end"}),
    [](const auto& test) { return test.param.name; });

TEST_F(CompilerMeets, NothingOfTheProductButItsHeaders) {
  for (const char* file :
       {"/harness/judge/session.h", "/problems/001_allreduce/reference.cpp", "/reference/tensor.h"})
    for (const std::string& path : {std::string(PKB_SOURCE) + file, "../../../.." + std::string(file)})
      EXPECT_THAT(compile(write("#include \"" + path + "\"\n")).text, HasSubstr("No such file or directory"))
          << path;
}

// What lies beside a candidate has no part in it (a compiler, headers, settings of debuggers and loaders).
TEST_F(CompilerMeets, NoNeighbourOfTheSource) {
  const fs::path source = write("#include <pkb/beside.h>\n#include \"beside.h\"\n");
  write("int beside;", "beside.h");
  fs::create_directory(x_folder / "pkb");
  write("int beside;", "pkb/beside.h");
  write("#!/bin/sh\necho NEIGHBOUR\n", "nvcc");
  fs::permissions(x_folder / "nvcc", fs::perms::owner_all);
  const candidate::CompileResult result = compile(source);
  EXPECT_THAT(result.text, HasSubstr("pkb/beside.h: No such file or directory"));
  EXPECT_THAT(result.text, Not(HasSubstr("NEIGHBOUR")));
}

// Many are compiled at once, and all are called kernel.cu.
TEST_F(CompilerMeets, NoOtherSourceOfTheSameName) {
  std::vector<std::future<candidate::CompileResult>> results;
  for (int i = 0; i < 4; ++i) {
    const std::string folder = std::to_string(i);
    fs::create_directory(x_folder / folder);
    const fs::path source = write("#error number " + folder + "\n", folder + "/kernel.cu");
    results.push_back(std::async(std::launch::async, [this, source] { return compile(source); }));
  }
  for (std::size_t i = 0; i < results.size(); ++i)
    EXPECT_THAT(results[i].get().text, HasSubstr("number " + std::to_string(i)));
}

}  // namespace
}  // namespace pkb::integrity
