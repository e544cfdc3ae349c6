// SPDX-License-Identifier: Apache-2.0
// What happens to evaluations from outside: nothing is lost, nothing is left, verdicts are unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "harness/integrity/evaluation.h"

namespace pkb::integrity {
namespace {

using cli::Process;
using cli::TestFolder;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(TwoAtOnce, InOneFolderBothHaveTheirResults) {
  const Machine machine;
  const TestFolder out;
  Process first(command(good_candidate(), {}, machine, out.path()));
  Process second(command(good_candidate(), {}, machine, out.path()));
  EXPECT_EQ(first.wait(), 0) << first.errors();
  EXPECT_EQ(second.wait(), 0) << second.errors();
  EXPECT_EQ(out.files().size(), 2u);
  for (const auto& file : out.files()) EXPECT_EQ(json::parse(read(file)).at("verdict"), "correct");
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

// The folder for results is a file system of one page, made by a bubblewrap around the whole of pkb.
TEST(AFullDisk, CostsTheFileButNotTheVerdict) {
  const Machine machine;
  const TestFolder out;
  cli::Command full = command(good_candidate(), {.trials = 1}, machine, out.path());
  const std::vector<std::string> around = {"bwrap",  "--dev-bind", "/",       "/",
                                           "--size", "4096",       "--tmpfs", out.path()};
  full.words.insert(full.words.begin(), around.begin(), around.end());
  const cli::Finished done = cli::run(full);
  if (done.errors.find("user namespaces") != std::string::npos)
    GTEST_SKIP() << "no sandbox in a sandbox here";
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.output, HasSubstr("correct: 1 trials on 2 ranks"));
  EXPECT_THAT(done.errors, HasSubstr("cannot be written: No space left on device"));
}

TEST(AClock, ThatGoesBackwardsChangesNothing) {
  const Machine machine;
  const TestFolder out;
  cli::Command backwards = command(good_candidate(), {}, machine, out.path());
  backwards.environment["LD_PRELOAD"] = PKB_BACKWARDS_CLOCK;
  const cli::Finished done = cli::run(backwards);
  EXPECT_EQ(done.exit, 0) << done.errors;
  ASSERT_EQ(out.files().size(), 1u);
  const json result = json::parse(read(out.files().front()));
  EXPECT_EQ(result.at("verdict"), "correct");
  EXPECT_EQ(result.at("created").get<std::string>().substr(0, 2), "19") << "the clock was not ours";
  for (const auto& [phase, milliseconds] : result.at("phases").items()) EXPECT_GE(milliseconds, 0) << phase;
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

TEST(SeveralSandboxPrograms, OneServesCompilerAndWorker) {
  const Machine machine;
  const TestFolder out, programs;
  // Notes each use, and is the first on the PATH.
  const auto bwrap = programs.path() / "bwrap", log = programs.path() / "log";
  std::ofstream(bwrap) << "#!/bin/sh\necho x >> " << log.string() << "\nexec /usr/bin/bwrap \"$@\"\n";
  std::filesystem::permissions(bwrap, std::filesystem::perms::owner_all);
  cli::Command several = command(good_candidate(), {.trials = 1}, machine, out.path());
  several.environment["PATH"] = programs.path().string() + ":" + ::getenv("PATH");
  EXPECT_EQ(cli::run(several).exit, 0);
  EXPECT_GE(std::ranges::count(read(log), 'x'), 4) << "each judge tries it out and starts a worker with it";
}

}  // namespace
}  // namespace pkb::integrity
