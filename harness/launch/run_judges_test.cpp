// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "harness/error/error.h"
#include "harness/launch/job.h"

namespace pkb::launch {
namespace {

namespace fs = std::filesystem;

/// A run folder with a shell script in the place of mpirun.
class RunJudges : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "pkb-launch-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    x_folder = pattern;
    fs::create_directory(x_folder / "run");
  }
  void TearDown() override { fs::remove_all(x_folder); }

  nlohmann::json run(const std::string& script, const Progress& progress = {}) {
    const fs::path mpirun = x_folder / "mpirun";
    std::ofstream(mpirun) << "#!/bin/sh\nrun=" << (x_folder / "run").string() << "\n" << script << "\n";
    ::chmod(mpirun.c_str(), 0700);
    Job job;
    job.ranks = 2;
    job.run_folder = x_folder / "run";
    job.whole_deadline = std::chrono::seconds(x_deadline);
    return run_judges(job, {.mpirun = mpirun, .judge = "/no/judge"}, progress);
  }

  std::string failure(const std::string& script) {
    try {
      run(script);
    } catch (const EnvironmentError& error) {
      return error.what();
    }
    return "no EnvironmentError";
  }

  fs::path x_folder;
  int x_deadline = 60;
};

TEST_F(RunJudges, ReturnsTheVerdict) {
  EXPECT_EQ(run("echo '{\"verdict\": \"correct\"}' > $run/verdict.json"),
            nlohmann::json({{"verdict", "correct"}, {"mps", ""}}));
}

TEST_F(RunJudges, PassesThePlainJudgeTheJobFile) {
  run("echo '{}' > $run/verdict.json; echo \"$*\" > $run/arguments; stat -c %a $run/job.json >> "
      "$run/arguments");
  std::ifstream file(x_folder / "run" / "arguments");
  const std::string arguments(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(arguments, testing::HasSubstr("-n 2 "));
  EXPECT_THAT(arguments,
              testing::EndsWith(" /no/judge " + (x_folder / "run" / "job.json").string() + "\n600\n"));
}

TEST_F(RunJudges, SaysHowMpirunEndedAndItsLastLines) {
  EXPECT_EQ(failure("echo one; echo two >&2; exit 7"),
            "judges: mpirun exited with status 7 without a verdict; its last lines:\none\ntwo");
}

TEST_F(RunJudges, SaysThatMpirunWasKilled) {
  EXPECT_EQ(failure("kill -KILL $$"), "judges: mpirun was killed by signal 9 (Killed) without a verdict");
}

TEST_F(RunJudges, DoesNotTakeHalfAVerdict) {
  EXPECT_THAT(failure("printf '{\"verdict\": \"corr' > $run/verdict.json"),
              testing::HasSubstr("without a verdict"));
}

TEST_F(RunJudges, PassesOnWhatAJudgeSaysOfTheEnvironment) {
  EXPECT_EQ(
      failure("echo '{\"kind\": \"environment\", \"text\": \"disk full\"}' > $run/failure.json; exit 1"),
      "disk full");
}

TEST_F(RunJudges, PassesOnWhatAJudgeSaysOfTheInput) {
  EXPECT_THROW(run("echo '{\"kind\": \"input\", \"text\": \"bad shape\"}' > $run/failure.json; exit 1"),
               InputError);
}

TEST_F(RunJudges, ReportsProgressLineByLine) {
  std::vector<std::string> lines;
  run("printf 'one\\ntw' > $run/progress; sleep 0.2; printf 'o\\n' >> $run/progress; sleep 0.2; echo {} > "
      "$run/verdict.json",
      [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, testing::ElementsAre("one", "two"));
}

TEST_F(RunJudges, EndsWhatOutlivesTheDeadline) {
  x_deadline = 1;
  EXPECT_EQ(failure("exec sleep 100"),
            "judges: not done after 1 s; choose a smaller size or a longer deadline");
}

TEST_F(RunJudges, EndsTheJudgesWhenInterrupted) {
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ::kill(::getpid(), SIGTERM);
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(failure("echo $$ > $run/pid; exec sleep 100"), "interrupted by signal 15 (Terminated)");
  later.join();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  pid_t pid = 0;
  std::ifstream(x_folder / "run" / "pid") >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace pkb::launch
