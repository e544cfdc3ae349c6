// SPDX-License-Identifier: Apache-2.0
#include "harness/process/child.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/error/error.h"
#include "harness/process/captured_output.h"

namespace pkb::process {
namespace {

using namespace std::chrono_literals;

struct Ran {
  int status;
  std::string output;
};

Ran run_shell(const std::string& script, Command command = {}) {
  const auto [read_end, write_end] = open_pipe();
  command.arguments = {"/bin/sh", "-c", script};
  command.descriptors[1] = command.descriptors[2] = write_end;
  Child child(command);
  ::close(write_end);
  const int status = child.wait(20s).value_or(-1);
  CapturedOutput output(10'000);
  output.drain(read_end);
  ::close(read_end);
  return {status, output.text()};
}

TEST(Child, ReportsItsStatus) {
  EXPECT_EQ(describe_status(run_shell("exit 3").status), "exited with status 3");
  EXPECT_EQ(describe_status(run_shell("kill -SEGV $$").status),
            "was killed by signal 11 (Segmentation fault)");
}

TEST(Child, InheritsOnlyWhatIsListed) {
  const int leak = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC
  ::setenv("PKB_TEST_SECRET", "secret", 1);
  const Ran ran = run_shell("env; ls /proc/$$/fd", {.environment = {"PATH=/usr/bin:/bin", "ONE=1"}});
  EXPECT_THAT(ran.output, testing::HasSubstr("ONE=1"));
  EXPECT_THAT(ran.output, testing::Not(testing::HasSubstr("secret")));
  EXPECT_THAT(ran.output, testing::EndsWith("\n0\n1\n2\n"));
  ::close(leak);
}

TEST(Child, HasItsLimits) {
  const Ran ran = run_shell("ulimit -n", {.limits = {{RLIMIT_NOFILE, 77}}});
  EXPECT_EQ(ran.output, "77\n");
}

TEST(Child, ThatCannotBeExecutedIsAnError) {
  try {
    Child({.arguments = {"/no/such/program"}, .environment = {}});
    FAIL();
  } catch (const EnvironmentError& error) {
    EXPECT_STREQ(error.what(), "/no/such/program: cannot be started: No such file or directory");
  }
}

TEST(Child, ThatIgnoresSigtermIsKilled) {
  const auto [read_end, write_end] = open_pipe();
  Child child({.arguments = {"/bin/sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done"},
               .environment = {"PATH=/usr/bin:/bin"},
               .descriptors = {-1, write_end, -1}});
  ::close(write_end);
  CapturedOutput output(100);
  while (output.text() != "ready\n") ASSERT_TRUE(output.drain(read_end));
  ::close(read_end);
  const auto start = std::chrono::steady_clock::now();
  child.end(200ms);
  EXPECT_FALSE(child.running());
  EXPECT_GE(std::chrono::steady_clock::now() - start, 200ms);
}

TEST(Child, EndsWithItsObjectAndTakesItsGroupAlong) {
  pid_t grandchild = 0;
  {
    const auto [read_end, write_end] = open_pipe();
    Child child({.arguments = {"/bin/sh", "-c", "sleep 100 & echo $!; wait"},
                 .environment = {"PATH=/usr/bin:/bin"},
                 .descriptors = {-1, write_end, -1}});
    ::close(write_end);
    CapturedOutput output(100);
    while (output.text().find('\n') == std::string::npos) output.drain(read_end);
    grandchild = std::stoi(output.text());
    EXPECT_EQ(::kill(grandchild, 0), 0);
    ::close(read_end);
  }
  // Reaped by init, or a zombie until then.
  for (int i = 0; i < 500 && ::kill(grandchild, 0) == 0; ++i) {
    std::string state;
    FILE* stat = std::fopen(("/proc/" + std::to_string(grandchild) + "/stat").c_str(), "r");
    char letter = 'X';
    if (stat != nullptr) {
      if (std::fscanf(stat, "%*d %*s %c", &letter) != 1) letter = 'X';
      std::fclose(stat);
    }
    if (letter == 'Z' || letter == 'X') return;
    ::usleep(10'000);
  }
  EXPECT_NE(::kill(grandchild, 0), 0);
}

}  // namespace
}  // namespace pkb::process
