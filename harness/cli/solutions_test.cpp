// SPDX-License-Identifier: Apache-2.0
// Every solution of every problem is accepted, without a word from the checks. Solutions are found, not
// listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

struct Solution {
  std::filesystem::path file;
  std::string problem;
  std::string name;  ///< of the test
};
void PrintTo(const Solution& solution, std::ostream* out) { *out << solution.file.string(); }

std::vector<Solution> solutions() {
  std::vector<Solution> found;
  for (const auto& folder : std::filesystem::directory_iterator(PKB_SOURCE "/problems")) {
    const std::filesystem::path solutions = folder.path() / "solutions";
    if (!std::filesystem::is_directory(solutions)) continue;
    for (const auto& file : std::filesystem::directory_iterator(solutions)) {
      if (file.path().extension() != ".cu") continue;
      const std::string problem = folder.path().filename().string();
      found.push_back({file.path(), problem.substr(0, 3), problem + "_" + file.path().stem().string()});
    }
  }
  std::ranges::sort(found, {}, &Solution::name);
  return found;
}

struct Setting {
  const char* name;  ///< of the test
  const char* ranks;
  const char* dtype = "bf16";
  const char* device = "virtual";
  const char* size = "tiny";
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

class Solved : public testing::TestWithParam<std::tuple<Solution, Setting>> {};

// Every kind of input comes up in three trials, and on virtual GPUs every variant of the size.
TEST_P(Solved, IsCorrect) {
  const auto& [solution, setting] = GetParam();
  const TestFolder out;
  Command command{.words = {PKB_EXECUTABLE, "eval", solution.problem, solution.file, "--device",
                            setting.device, "--ranks", setting.ranks, "--dtype", setting.dtype, "--size",
                            setting.size, "--trials", "3", "--json", "--out", out.path()}};
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  const Finished done = run(command);
  if (done.exit == 3 && std::string(setting.device) == "shared") GTEST_SKIP() << done.errors;
  // Every tiny size allows three ranks; other numbers and sizes a problem may refuse.
  if (done.exit == 2 && std::string(setting.name) != "3") GTEST_SKIP() << done.errors;
  ASSERT_EQ(done.exit, 0) << done.output << done.errors;
  const nlohmann::json result = nlohmann::json::parse(done.output);
  EXPECT_EQ(result.at("verdict"), "correct");
  EXPECT_EQ(result.at("diagnoses"), nlohmann::json::array());
  EXPECT_EQ(std::to_string(result.at("ranks").get<int>()), setting.ranks);
}

std::string name_of(const testing::TestParamInfo<Solved::ParamType>& test) {
  return std::get<0>(test.param).name + "_" + std::get<1>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(Virtual, Solved,
                         testing::Combine(testing::ValuesIn(solutions()), testing::Values(Setting{"3", "3"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(EachWay, Solved,
                         testing::Combine(testing::ValuesIn(solutions()),
                                          testing::Values(Setting{"1", "1"}, Setting{"2Fp32", "2", "fp32"},
                                                          Setting{"4Fp16", "4", "fp16"}, Setting{"8", "8"})),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Gpu, Solved,
                         testing::Combine(testing::ValuesIn(solutions()),
                                          testing::Values(Setting{"4", "4", "bf16", "shared"},
                                                          Setting{"2Fp32", "2", "fp32", "shared"},
                                                          Setting{"4Small", "4", "bf16", "shared", "small"})),
                         name_of);

}  // namespace
}  // namespace pkb::cli
