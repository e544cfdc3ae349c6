// SPDX-License-Identifier: Apache-2.0
// The other commands, and bad input of every kind: one clear message and the right exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kSolution = PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu";

Finished pkb(const std::vector<std::string>& arguments) {
  Command command{.words = {PKB_EXECUTABLE}};
  command.words.insert(command.words.end(), arguments.begin(), arguments.end());
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  return run(command);
}

TEST(List, NamesTheProblems) {
  const Finished done = pkb({"list"});
  EXPECT_EQ(done.exit, 0);
  EXPECT_THAT(done.output, AllOf(StartsWith("001  allreduce "), HasSubstr("\n013  gemm_allreduce ")));
  const auto json = nlohmann::json::parse(pkb({"list", "--json"}).output);
  EXPECT_EQ(json.at("problems").at(0).at("name"), "allreduce");
}

TEST(Show, GivesSizesTensorsReferenceAndHeader) {
  const Finished done = pkb({"show", "gemm_allreduce"});
  EXPECT_EQ(done.exit, 0) << done.errors;
  EXPECT_THAT(done.output,
              AllOf(HasSubstr("size tiny: W = 4, 2, 3"), HasSubstr("A_local      bf16     (113, 71)"),
                    HasSubstr("matmul("), HasSubstr("struct Args")));
  EXPECT_EQ(nlohmann::json::parse(pkb({"show", "13", "--json"}).output).at("id"), 13);
}

TEST(Roofline, GivesEachTermAndWhatLimits) {
  const Finished done = pkb({"roofline", "allreduce", "--ranks", "8"});
  EXPECT_EQ(done.exit, 0) << done.errors;
  EXPECT_THAT(done.output, AllOf(HasSubstr("on h200"), HasSubstr("134.2 MB out, 134.2 MB in"),
                                 HasSubstr("at least 298.3 us, limited by links")));
  const auto json = nlohmann::json::parse(pkb({"roofline", "13", "--hardware", "b200", "--json"}).output);
  EXPECT_EQ(json.at("hardware"), "b200");
  EXPECT_EQ(json.at("instances").at(0).at("roofline").at("limit"), "compute");
}

TEST(Calibrate, NeedsAGpu) {
  const Finished done =
      run({.words = {PKB_EXECUTABLE, "calibrate"}, .environment = {{"CUDA_VISIBLE_DEVICES", ""}}});
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, AllOf(StartsWith("pkb: calibrate: "), HasSubstr("run it on a machine with a GPU")));
}

TEST(Doctor, SaysThatThisMachineWorks) {
  const Finished done = pkb({"doctor", "--json"});
  EXPECT_EQ(done.exit, 0) << done.output;
  EXPECT_TRUE(nlohmann::json::parse(done.output).at("works"));
}

TEST(Baseline, AgreesWithTheGoldenValues) {
  for (const char* problem : {"1", "2", "3", "4", "5", "6", "7", "8", "13"}) {
    const Finished done = pkb({"baseline", problem, "--device", "virtual", "--ranks", "3", "--json"});
    EXPECT_EQ(done.exit, 0) << problem << done.output << done.errors;
    EXPECT_EQ(nlohmann::json::parse(done.output).at("verdict"), "correct");
  }
}

TEST(Export, WritesWhatImportReads) {
  const TestFolder data, out;
  const Finished exported = pkb({"export", "1", "--device", "virtual", "--ranks", "2", "--out", data.path()});
  ASSERT_EQ(exported.exit, 0) << exported.errors;
  const auto index = nlohmann::json::parse(std::ifstream(data.path() / "index.json"));
  EXPECT_FALSE(index.empty());
  const Finished done = pkb({"eval", "1", kSolution, "--device", "virtual", "--ranks", "2", "--import",
                             data.path(), "--out", out.path(), "--json"});
  EXPECT_EQ(done.exit, 0) << done.output << done.errors;
  EXPECT_EQ(nlohmann::json::parse(done.output).at("inputs"), "imported");
}

TEST(Json, IsOneObjectAlsoWhenNothingCanBeSaid) {
  const Finished input = pkb({"eval", "1", "/no/such/kernel.cu", "--json", "--device", "virtual"});
  EXPECT_EQ(input.exit, 2);
  EXPECT_THAT(nlohmann::json::parse(input.output).at("error"), HasSubstr("/no/such/kernel.cu: there is no such file"));
  const Finished usage = pkb({"eval", "1", kSolution, "--json", "--ranks", "0"});
  EXPECT_EQ(usage.exit, 2);
  EXPECT_THAT(nlohmann::json::parse(usage.output).at("error"), HasSubstr("--ranks"));
  const Finished environment = pkb({"eval", "1", kSolution, "--json", "--device", "virtual", "--out", "/proc/self"});
  EXPECT_EQ(environment.exit, 3);
  EXPECT_EQ(nlohmann::json::parse(environment.output).at("exit"), 3);
}

TEST(Output, ThatCannotBeWrittenIsNoSuccess) {
  const Finished done = run({.words = {"/bin/sh", "-c", PKB_EXECUTABLE " list > /dev/full"}});
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, StartsWith("pkb: "));
}

TEST(TemporaryFolder, ThatDoesNotExistIsNamed) {
  const Finished done = run({.words = {PKB_EXECUTABLE, "eval", "1", kSolution, "--device", "virtual"},
                             .environment = {{"TMPDIR", "/no/such/folder"}}});
  EXPECT_EQ(done.exit, 3);
  EXPECT_THAT(done.errors, HasSubstr("TMPDIR: names no folder"));
}

TEST(Import, RefusesAPipe) {
  const TestFolder data, out;
  ASSERT_EQ(mkfifo((data.path() / "index.json").c_str(), 0600), 0);
  const Finished done = pkb({"eval", "1", kSolution, "--device", "virtual", "--ranks", "2", "--import",
                             data.path(), "--out", out.path()});
  EXPECT_EQ(done.exit, 2);
  EXPECT_THAT(done.errors, HasSubstr("index.json: is no regular file"));
}

struct Misuse {
  const char* name;
  std::vector<std::string> arguments;
  int exit;
  const char* message;  // on standard error
};
class Refuses : public testing::TestWithParam<Misuse> {};

TEST_P(Refuses, WithOneMessage) {
  const Misuse& m = GetParam();
  const TestFolder out;
  std::vector<std::string> arguments = m.arguments;
  if (arguments.at(0) == "eval" && std::ranges::find(arguments, "--out") == arguments.end())
    arguments.insert(arguments.end(), {"--out", out.path(), "--device", "virtual"});
  const Finished done = pkb(arguments);
  EXPECT_EQ(done.exit, m.exit) << done.errors;
  EXPECT_THAT(done.errors, HasSubstr(m.message));
  EXPECT_EQ(done.output, "");
  EXPECT_TRUE(out.files().empty());
}

INSTANTIATE_TEST_SUITE_P(
    BadInput, Refuses,
    testing::Values(
        Misuse{"UnknownProblem", {"eval", "allreduse", kSolution}, 2, "allreduce"},
        Misuse{"UnknownNumber", {"show", "88"}, 2, "88"},
        Misuse{"MissingFile", {"eval", "1", "/no/such/kernel.cu"}, 2, "/no/such/kernel.cu"},
        Misuse{"FolderForFile", {"eval", "1", "/"}, 2, "/: "},
        Misuse{"UnknownSize", {"eval", "1", kSolution, "--size", "huge"}, 2, "huge"},
        Misuse{"TooManyRanks", {"eval", "1", kSolution, "--ranks", "65"}, 2, "--ranks"},
        Misuse{"NoRanks", {"eval", "1", kSolution, "--ranks", "0"}, 2, "--ranks"},
        Misuse{"RanksThatAreNoNumber", {"eval", "1", kSolution, "--ranks", "four"}, 2, "--ranks"},
        Misuse{"TimeoutThatIsNoNumber", {"eval", "1", kSolution, "--timeout", "nan"}, 2, "--timeout"},
        Misuse{"NegativeSeed", {"eval", "1", kSolution, "--seed", "-1"}, 2, "--seed"},
        Misuse{"SeedTooLarge", {"eval", "1", kSolution, "--seed", "18446744073709551616"}, 2, "--seed"},
        Misuse{"UnknownDtype", {"eval", "1", kSolution, "--dtype", "fp4"}, 2, "--dtype"},
        Misuse{"UnknownOption", {"eval", "1", kSolution, "--fast"}, 2, "--fast"},
        Misuse{"UnknownHardware", {"roofline", "1", "--hardware", "h300"}, 2, "\"h300\" is not in the table; known are a100"},
        Misuse{"NoSuchCalibration", {"roofline", "1", "--hardware", "none.json"}, 2, "none.json: no such file"},
        Misuse{"PlotOfAnotherFile", {"calibrate", "--plot", kSolution}, 2, "peer_load.cu: line 1"},
        Misuse{"NoCommand", {"frobnicate"}, 2, "frobnicate: no such command; choose one of list, show"},
        Misuse{"OutInsideAFile",
               {"eval", "1", kSolution, "--device", "virtual", "--out", kSolution + "/x"},
               3,
               "cannot be made a folder for results"},
        Misuse{"OutInProc",
               {"eval", "1", kSolution, "--device", "virtual", "--out", "/proc/self"},
               3,
               "cannot be written"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pkb::cli
