// SPDX-License-Identifier: Apache-2.0
#include "harness/process/run_limited.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "harness/error/error.h"

namespace pkb::process {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

Result shell(const std::string& script, const Limits& limits = {}) {
  return run_limited({"/bin/sh", "-c", script}, {"ONLY=this"}, "/", limits);
}

TEST(RunLimited, GivesStatusAndBothStreams) {
  const Result result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.text, "out\nerr\n");
  EXPECT_FALSE(result.timed_out);
}

TEST(RunLimited, EnvironmentInputAndFolderAreGiven) {
  setenv("PKB_SECRET", "leaked", 1);
  const Result result = shell("echo $ONLY ${PKB_SECRET:-none}; pwd; cat");
  EXPECT_EQ(result.text, "this none\n/\n");
}

TEST(RunLimited, SignalsAreNamedAsAShellDoes) { EXPECT_EQ(shell("kill -SEGV $$").exit_code, 128 + SIGSEGV); }

TEST(RunLimited, DeadlineEndsTheWholeGroup) {
  const auto start = std::chrono::steady_clock::now();
  const Result result = shell("sleep 77 & echo $!; wait", {.time = milliseconds(300)});
  EXPECT_TRUE(result.timed_out);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3000));
  const pid_t grandchild = std::stoi(result.text);
  for (int i = 0; i < 100 && kill(grandchild, 0) == 0; ++i) std::this_thread::sleep_for(milliseconds(10));
  // Whoever adopted it may not have reaped it yet, but it does not run any more.
  std::ifstream status(fmt::format("/proc/{}/stat", grandchild));
  std::string pid, name, state = "gone";
  status >> pid >> name >> state;
  EXPECT_TRUE(state == "gone" || state == "Z") << state;
}

TEST(RunLimited, EndOfTheLeaderEndsTheRest) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("sleep 77 & exit 0").exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(3000));
}

TEST(RunLimited, FloodIsBoundedAndEndsInTime) {
  const Result flood = shell("echo first; while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
                             {.time = milliseconds(500), .text = 1000});
  EXPECT_TRUE(flood.timed_out);
  EXPECT_LT(flood.text.size(), 1100u);
  EXPECT_THAT(flood.text, testing::StartsWith("first\n"));
  EXPECT_THAT(flood.text, HasSubstr(" bytes left out]"));
}

TEST(RunLimited, TextsBelowTheLimitStayWhole) {
  EXPECT_EQ(shell("printf 0123456789", {.text = 10}).text, "0123456789");
  EXPECT_EQ(shell("printf 01234567890", {.text = 10}).text, "01234\n[1 bytes left out]\n67890");
}

TEST(RunLimited, FileSizeLimit) {
  const std::string path = testing::TempDir() + fmt::format("pkb_large_{}", getpid());
  const Result result =
      shell(fmt::format("head -c 100000 /dev/zero > {0}; wc -c < {0}; rm {0}", path), {.file_size = 5000});
  EXPECT_THAT(result.text, HasSubstr("5000\n"));
}

TEST(RunLimited, MissingProgram) {
  EXPECT_THROW(run_limited({"/nonexistent/program"}, {}, "/", {}), EnvironmentError);
}

TEST(RunLimited, MissingFolder) {
  EXPECT_THROW(run_limited({"/bin/true"}, {}, "/nonexistent", {}), EnvironmentError);
}

TEST(RunLimited, AddressSpaceLimit) {
  // A line is kept in memory whole, and this one does not end.
  const Result result =
      shell("head -c 200000000 /dev/zero | sort >/dev/null; echo $?", {.address_space = 100 << 20});
  EXPECT_THAT(result.text, testing::EndsWith("\n2\n"));
}

}  // namespace
}  // namespace pkb::process
