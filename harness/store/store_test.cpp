// SPDX-License-Identifier: Apache-2.0
#include "harness/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/error/error.h"
#include "harness/store/verdict.h"

namespace pkb::store {
namespace {

using testing::HasSubstr;

class Store : public testing::Test {
 protected:
  void SetUp() override {
    x_folder = std::filesystem::path(testing::TempDir()) / ("pkb_store_" + new_id());
    std::filesystem::create_directory(x_folder);
  }
  void TearDown() override { std::filesystem::remove_all(x_folder); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(x_folder), std::filesystem::directory_iterator()));
  }
  std::filesystem::path x_folder;
};

TEST_F(Store, WritesAResultUnderItsId) {
  const nlohmann::json result = {{"id", "a-1"}, {"verdict", "correct"}};
  const auto file = write_result(result, x_folder);
  EXPECT_EQ(file, x_folder / "a-1.json");
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(file)), result);
  EXPECT_EQ(files(), 1u);
}

TEST_F(Store, KeepsAResultWhoseTextIsNoUtf8) {
  const auto file = write_result({{"id", "a"}, {"log", "caf\xe9"}}, x_folder);
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(file)).at("log"), "caf\xef\xbf\xbd");
}

// A limit on file size fails the write as a full disk does, without filling one.
TEST_F(Store, LeavesNothingWhenTheDiskIsFull) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1024, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const nlohmann::json large = {{"id", "a"}, {"log", std::string(100'000, 'x')}};
  EXPECT_THROW(write_result(large, x_folder), EnvironmentError);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(files(), 0u);
}

TEST_F(Store, RequireWritableMakesTheFolderAndLeavesNothingInIt) {
  require_writable(x_folder / "a" / "b");
  EXPECT_TRUE(std::filesystem::is_empty(x_folder / "a" / "b"));
}

TEST_F(Store, RequireWritableNamesAFolderThatCannotBe) {
  std::ofstream(x_folder / "file") << "x";
  try {
    require_writable(x_folder / "file" / "under");
    FAIL() << "a folder inside a file was accepted";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr((x_folder / "file" / "under").string() + ": cannot be made a folder for results"));
    EXPECT_THAT(error.what(), HasSubstr("choose another one with --out"));
  }
}

TEST(NewId, NeverRepeats) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) ids.insert(new_id());
  EXPECT_EQ(ids.size(), 1000u);
}

TEST(Verdict, NamesServeBothDirections) {
  EXPECT_EQ(name_of(Verdict::no_code), "no_code");
  EXPECT_EQ(name_of(Verdict::correct), "correct");
  for (const std::string_view name : kVerdictNames) EXPECT_EQ(name_of(verdict_from(name).value()), name);
  EXPECT_EQ(verdict_from("perfect"), std::nullopt);
}

}  // namespace
}  // namespace pkb::store
