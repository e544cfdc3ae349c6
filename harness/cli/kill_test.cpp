// SPDX-License-Identifier: Apache-2.0
// Killing parts of an evaluation: one message, the right exit code, nothing left running, no half-written
// result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::string command_line(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::ranges::replace(text, '\0', ' ');
  return text;
}

/// An evaluation of a candidate that never ends, once all its workers run.
class Endless {
 public:
  explicit Endless(const TestFolder& out, const char* timeout = "100")
      : x_process(
            {.words = {PKB_EXECUTABLE, "eval", "1", PKB_SOURCE "/harness/cli/testdata/001/never_ends.cu",
                       "--device", "virtual", "--ranks", "2", "--timeout", timeout, "--out", out.path()},
             .environment = {{"XDG_CACHE_HOME", PKB_TEST_CACHE}}}) {
    for (int i = 0; i < 600 && count("pkb-worker-virtual") < 2; ++i) std::this_thread::sleep_for(100ms);
    std::this_thread::sleep_for(1s);  // into the run itself
    x_all = descendants(x_process.pid());
  }
  std::size_t count(const std::string& name) const { return found(name).size(); }
  std::vector<pid_t> found(const std::string& name) const {
    std::vector<pid_t> matching;
    for (const pid_t each : descendants(x_process.pid()))
      if (command_line(each).find(name) != std::string::npos) matching.push_back(each);
    return matching;
  }
  Process& process() { return x_process; }
  /// Processes of the evaluation that still run, after up to three seconds for the last of them.
  std::size_t left() const {
    for (int i = 0; i < 30 && std::ranges::any_of(x_all, alive); ++i) std::this_thread::sleep_for(100ms);
    return static_cast<std::size_t>(std::ranges::count_if(x_all, alive));
  }

 private:
  Process x_process;
  std::vector<pid_t> x_all;
};

TEST(Kill, MpirunEndsInOneMessageAndLeavesNothing) {
  const TestFolder out;
  Endless eval(out);
  const auto mpirun = eval.found("mpirun");
  ASSERT_FALSE(mpirun.empty());
  kill(mpirun.front(), SIGKILL);
  EXPECT_EQ(eval.process().wait(30s), 3);
  EXPECT_THAT(eval.process().errors(), HasSubstr("mpirun"));
  EXPECT_EQ(eval.left(), 0u);
  EXPECT_TRUE(out.files().empty());
}

TEST(Kill, AJudgeEndsInOneMessageAndLeavesNothing) {
  const TestFolder out;
  Endless eval(out);
  std::vector<pid_t> judges;
  for (const pid_t each : eval.found("pkb-judge"))
    if (command_line(each).find("mpirun") == std::string::npos) judges.push_back(each);
  ASSERT_FALSE(judges.empty());
  kill(judges.back(), SIGKILL);
  EXPECT_EQ(eval.process().wait(30s), 3);
  EXPECT_EQ(eval.left(), 0u);
  EXPECT_TRUE(out.files().empty());
}

TEST(Kill, AWorkerIsACrashOfTheCandidate) {
  const TestFolder out;
  Endless eval(out);
  const auto workers = eval.found("pkb-worker-virtual");
  ASSERT_FALSE(workers.empty());
  kill(workers.back(), SIGKILL);
  EXPECT_EQ(eval.process().wait(30s), 1);
  EXPECT_THAT(eval.process().output(), HasSubstr("crash"));
  EXPECT_EQ(eval.left(), 0u);
  EXPECT_EQ(out.files().size(), 1u);
}

TEST(Kill, AnInterruptedPkbLeavesNothing) {
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const TestFolder out;
    Endless eval(out);
    kill(eval.process().pid(), signal);
    EXPECT_NE(eval.process().wait(30s), 0) << signal;
    EXPECT_EQ(eval.left(), 0u) << signal;
    EXPECT_TRUE(out.files().empty()) << signal;
  }
}

TEST(Deadline, ARunThatKeepsWorkingIsATimeout) {
  const TestFolder out;
  Endless eval(out, "3");
  EXPECT_EQ(eval.process().wait(60s), 1);
  EXPECT_THAT(eval.process().output(), HasSubstr("timeout"));
  EXPECT_EQ(eval.left(), 0u);
}

}  // namespace
}  // namespace pkb::cli
