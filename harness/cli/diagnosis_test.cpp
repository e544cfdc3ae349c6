// SPDX-License-Identifier: Apache-2.0
// Wrong results are explained: in the result file and on the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

using testing::HasSubstr;

struct Wrong {
  const char* name;
  const char* problem;
  const char* file;  // in testdata
  const char* what;
  const char* category;
  const char* sentence;
};
class Explains : public testing::TestWithParam<std::tuple<const char*, Wrong>> {};

TEST_P(Explains, TheFirstWrongResult) {
  const auto& [ranks, wrong] = GetParam();
  const TestFolder out;
  Command command{.words = {PKB_EXECUTABLE, "eval", wrong.problem,
                            std::string(PKB_SOURCE "/harness/cli/testdata/") + wrong.file, "--device",
                            "virtual", "--ranks", ranks, "--trials", "2", "--checks", "off", "--out",
                            out.path()}};
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  const Finished done = run(command);
  ASSERT_EQ(done.exit, 1) << done.output << done.errors;
  EXPECT_THAT(done.output, HasSubstr("  explained by: "));
  EXPECT_THAT(done.output, HasSubstr(wrong.sentence));
  const auto result = nlohmann::json::parse(std::ifstream(out.files().at(0)));
  const nlohmann::json& first = result.at("diagnoses").at(0);
  EXPECT_EQ(first.at("class"), wrong.what) << first.dump(1);
  EXPECT_EQ(first.at("category"), wrong.category);
  EXPECT_THAT(first.at("explanation").get<std::string>(), HasSubstr(wrong.sentence));
  EXPECT_GT(first.at("wrong"), 0);
  EXPECT_EQ(first.at("got_by_rank").size(), std::stoul(ranks));
  EXPECT_EQ(first.at("golden_by_rank").size(), std::stoul(ranks));
}

INSTANTIATE_TEST_SUITE_P(
    Candidates, Explains,
    testing::Combine(testing::Values("3", "4"),
                     testing::Values(Wrong{"ForgetsARank", "13", "013/forgets_last_rank.cu",
                                           "contribution_missing", "collective ordering / synchronisation",
                                           "is missing"},
                                     Wrong{"LocalOnly", "1", "001/local_only.cu", "not_reduced",
                                           "collective ordering / synchronisation", "received nothing"},
                                     Wrong{"Shifted", "1", "001/wrong_block_on_rank_1.cu", "shifted",
                                           "data partitioning", "1 element too late"},
                                     Wrong{"Unwritten", "1", "001/unwritten_on_rank_2.cu", "unwritten",
                                           "data partitioning", "never written"})),
    [](const auto& test) { return std::string(std::get<1>(test.param).name) + std::get<0>(test.param); });

}  // namespace
}  // namespace pkb::cli
