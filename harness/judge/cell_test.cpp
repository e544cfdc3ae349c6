// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/cell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "harness/judge/worker_process.h"
#include "harness/process/executable.h"

namespace pkb::judge {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

/// `peek`, a program that prints what it can see and do, in the place of a worker.
class InSandbox : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string fault = sandbox::fault(); !fault.empty()) GTEST_SKIP() << fault;
  }

  std::string peek(const std::string& question) {
    // The candidate's file carries the question.
    const fs::path candidate = fs::temp_directory_path() / ("pkb-question-" + std::to_string(::getpid()));
    std::ofstream(candidate) << question;
    const Cell cell{.program = process::own_folder() / "cell_peek",
                    .candidate = candidate,
                    .mps_pipes = {},
                    .memory = 1 << 30};
    WorkerProcess worker(confined(cell, find_means(sandbox::find_bwrap(), false)), true);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!worker.death() && std::chrono::steady_clock::now() < deadline) worker.wait(1);
    x_death = worker.death().value_or("did not end");
    fs::remove(candidate);
    return worker.output();
  }

  std::string x_death;
};

TEST_F(InSandbox, OnlyTheLoopbackIsThere) { EXPECT_EQ(peek("network"), "lo\n"); }

TEST_F(InSandbox, TheEnvironmentIsEmpty) {
  ::setenv("PKB_API_KEY", "secret", 1);
  EXPECT_EQ(peek("environment"), "PWD=/tmp\n");
}

TEST_F(InSandbox, OnlyTheSocketAndTheOutputAreOpen) {
  const int leak = ::open("/dev/null", O_RDONLY);  // not closed on exec
  EXPECT_EQ(peek("descriptors"), "0\n1\n2\n3\n");
  ::close(leak);
}

TEST_F(InSandbox, TheRootHoldsWhatAWorkerNeeds) {
  const std::string root = peek("list /");
  EXPECT_THAT(root, HasSubstr("worker\n"));
  EXPECT_THAT(root, HasSubstr("candidate.so\n"));
  for (const char* hidden : {"home\n", "root\n", "var\n", "bin\n", "work\n", "opt\n", "srv\n", "mnt\n"})
    EXPECT_THAT(root, Not(HasSubstr(hidden)));
}

TEST_F(InSandbox, HostFilesAreHidden) {
  EXPECT_EQ(peek("read /etc/passwd"), "No such file or directory\n");
  EXPECT_EQ(peek("read " + process::own_folder().string() + "/cell_peek"), "No such file or directory\n");
  EXPECT_EQ(peek("list /tmp"), "");
}

TEST_F(InSandbox, NothingCanBeWrittenButItsOwnTmp) {
  EXPECT_EQ(peek("write /candidate.so"), "Read-only file system\n");
  EXPECT_EQ(peek("write /usr/lib/x"), "Read-only file system\n");
  EXPECT_EQ(peek("write /x"), "Read-only file system\n");
  EXPECT_EQ(peek("write /dev/x"), "Read-only file system\n");
  EXPECT_EQ(peek("write /tmp/x"), "written\n");
}

TEST_F(InSandbox, OtherProcessesAreOutOfReach) { EXPECT_EQ(peek("processes"), "at most 2\n"); }

TEST_F(InSandbox, MemoryIsLimited) { EXPECT_EQ(peek("memory"), "refused\n"); }

TEST_F(InSandbox, TheEndIsReported) {
  peek("exit 3");
  EXPECT_EQ(x_death, "exited with status 3");
  peek("crash");
  EXPECT_EQ(x_death, "was killed by signal 11 (Segmentation fault)");
}

TEST_F(InSandbox, AFloodIsKeptInBoundsAndBlocksNothing) {
  const std::string output = peek("flood");
  EXPECT_EQ(x_death, "exited with status 0");
  EXPECT_LT(output.size(), 70'000u);
  EXPECT_THAT(output, HasSubstr("bytes left out"));
}

TEST(Sandbox, NoneStillClearsTheEnvironment) {
  const process::Command command = unconfined({.program = "/w", .candidate = "/c", .mps_pipes = {}});
  EXPECT_THAT(command.arguments, testing::ElementsAre("/w"));
  for (const std::string& each : command.environment)
    EXPECT_THAT(each, testing::StartsWith("LD_LIBRARY_PATH="));
}

}  // namespace
}  // namespace pkb::judge
