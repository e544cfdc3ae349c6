// SPDX-License-Identifier: Apache-2.0
// No problem can be passed without doing the work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

std::vector<std::string> problems() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(PKB_SOURCE "/problems"))
    if (std::filesystem::exists(entry.path() / "problem.json")) all.push_back(entry.path().filename());
  std::ranges::sort(all);
  return all;
}

class EveryAnswer : public testing::TestWithParam<std::string> {};

TEST_P(EveryAnswer, RefusesWhatWasNotWorkedFor) {
  const Finished done =
      run({.words = {PKB_EXECUTABLE, "audit", GetParam(), "--device", "virtual", "--json"}});
  EXPECT_EQ(done.exit, 0) << done.output << done.errors;
  const auto result = nlohmann::json::parse(done.output);
  EXPECT_EQ(result.at("diagnoses"), nlohmann::json::array());
  const auto refused = std::ranges::count_if(result.at("audit"),
                                             [](const auto& row) { return row.at("outcome") == "refused"; });
  EXPECT_GE(refused, 5) << result.at("audit").dump(1);
}

INSTANTIATE_TEST_SUITE_P(Of, EveryAnswer, testing::ValuesIn(problems()),
                         [](const auto& test) { return test.param; });

TEST(Audit, FindsThatInputsAreTooWeak) {
  const TestFolder data;
  const Finished exported = run({.words = {PKB_EXECUTABLE, "export", "1", "--device", "virtual", "--ranks",
                                           "2", "--out", data.path()}});
  ASSERT_EQ(exported.exit, 0) << exported.errors;
  // Inputs of zeros: the header of a .npy file ends with a line feed.
  for (const auto& file : data.files()) {
    if (file.filename().string().find(".input.") == std::string::npos) continue;
    std::stringstream whole;
    whole << std::ifstream(file, std::ios::binary).rdbuf();
    std::string bytes = whole.str();
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.find('\n') + 1), bytes.end(), '\0');
    std::ofstream(file, std::ios::binary) << bytes;
  }
  const Finished done = run({.words = {PKB_EXECUTABLE, "audit", "1", "--device", "virtual", "--ranks", "2",
                                       "--import", data.path(), "--json"}});
  EXPECT_EQ(done.exit, 1) << done.output << done.errors;
  std::vector<std::string> accepted;
  const auto result = nlohmann::json::parse(done.output);
  for (const auto& row : result.at("audit"))
    if (row.at("outcome") == "accepted") accepted.push_back(row.at("answer"));
  EXPECT_THAT(accepted, testing::IsSupersetOf({"zeros in out", "local only", "echo of tensor in out"})) << done.output;
}

}  // namespace
}  // namespace pkb::cli
