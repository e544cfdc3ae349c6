// SPDX-License-Identifier: Apache-2.0
// scripts/multi_gpu_campaign, dry, on virtual GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

using ::testing::HasSubstr;

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

TEST(MultiGpuCampaign, FillsItsTablesGoesOnAndNamesVerdictsThatDiffer) {
  const TestFolder folder;
  const auto campaign = [&](std::vector<std::string> parts) {
    Command command{.words = {PKB_SOURCE "/scripts/multi_gpu_campaign", "--device", "virtual", "--ranks", "2",
                              "--sizes", "tiny", "--problems", "5", "--out", folder.path()},
                    .environment = {{"PKB", PKB_EXECUTABLE}, {"XDG_CACHE_HOME", PKB_TEST_CACHE}}};
    command.words.insert(command.words.end(), parts.begin(), parts.end());
    return run(command);
  };
  Finished done = campaign({"baselines", "solutions", "verdicts"});
  ASSERT_EQ(done.exit, 0) << done.errors;
  EXPECT_THAT(text_of(folder.path() / "baselines.md"), HasSubstr("| 005_scatter.tiny | correct | - |"));
  EXPECT_THAT(text_of(folder.path() / "solutions.md"),
              HasSubstr("| 005_scatter.pull.tiny.3 | correct | - |"));

  const std::filesystem::path here = folder.path() / "verdicts" / "005_scatter.pull.here.json";
  ASSERT_TRUE(std::filesystem::exists(here)) << done.errors;
  std::ofstream(here) << R"({"verdict": "race", "diagnoses": []})";  // as if hardware had found one
  done = campaign({"verdicts"});
  EXPECT_EQ(done.exit, 1);
  EXPECT_THAT(done.errors, HasSubstr("race here, correct on virtual GPUs"));
  EXPECT_THAT(done.errors, HasSubstr("0 left to do or failed, 1 verdicts differ"));

  EXPECT_EQ(campaign({"baseline"}).exit, 2);
  EXPECT_EQ(campaign({"--minutes"}).exit, 2);
}

}  // namespace
}  // namespace pkb::cli
