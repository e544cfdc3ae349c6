// SPDX-License-Identifier: Apache-2.0
// Whole evaluations on virtual GPUs of candidates that fail in one known way each; solutions_test has those
// that must be accepted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/cli/process.h"

namespace pkb::cli {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

std::string testdata(const std::string& name) { return PKB_SOURCE "/harness/cli/testdata/001/" + name; }

Finished eval(const std::string& problem, const std::string& file, const std::filesystem::path& out,
              const std::vector<std::string>& more = {}) {
  Command command{.words = {PKB_EXECUTABLE, "eval", problem, file, "--device", "virtual", "--out", out}};
  command.words.insert(command.words.end(), more.begin(), more.end());
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  return run(command);
}

nlohmann::json only_result(const TestFolder& folder) {
  const auto files = folder.files();
  if (files.size() != 1) throw std::runtime_error("not one result file but " + std::to_string(files.size()));
  return nlohmann::json::parse(std::ifstream(files.front()));
}

struct Bad {
  const char* name;
  const char* file;  // in testdata/001
  const char* verdict;
  const char* text;  // a regular expression found in some diagnosis
  const char* ranks = "3";
};
class Refuses : public testing::TestWithParam<Bad> {};

TEST_P(Refuses, TheCandidate) {
  const Bad& bad = GetParam();
  const TestFolder out;
  const Finished done = eval("1", testdata(bad.file), out.path(), {"--ranks", bad.ranks, "--seed", "7"});
  EXPECT_EQ(done.exit, 1) << done.output << done.errors;
  const nlohmann::json result = only_result(out);
  EXPECT_EQ(result.at("verdict"), bad.verdict) << result.at("diagnoses").dump(1);
  EXPECT_THAT(result.at("diagnoses").dump(), ContainsRegex(bad.text));
  EXPECT_EQ(result.at("seed"), 7);
  EXPECT_EQ(result.at("seed_origin"), "given");
  EXPECT_THAT(done.output, HasSubstr(bad.verdict));
}

INSTANTIATE_TEST_SUITE_P(
    Candidates, Refuses,
    testing::Values(
        Bad{"ThatDoesNotCompile", "does_not_compile.cu", "compile_error", "nvcc refused it"},
        Bad{"WithoutRun", "no_run.cu", "load_error", "defines no void run"},
        Bad{"ThatTraps", "traps.cu", "crash", "kernel give_up .traps.cu:4."},
        Bad{"ThatHangs", "hangs_on_flag.cu", "deadlock",
            "kernel wait, block .0,0,0.: 1 thread polls symmetric #0.0. of rank . .hangs_on_flag.cu:"},
        Bad{"WrongOnOneRank", "wrong_block_on_rank_1.cu", "wrong_result", "elements"},
        Bad{"ThatExits", "exits_zero.cu", "crash", "exited with status 0 in run before it had answered"},
        Bad{"Unwritten", "unwritten_on_rank_2.cu", "wrong_result", "never written"},
        Bad{"ThatChangesItsInput", "changes_input.cu", "wrong_result", "tensor.*changed|changed.*tensor"},
        // With four ranks the bound per element is wide enough; only the audit over all of them tells.
        Bad{"ThatLosesPrecision", "loses_precision.cu", "wrong_result", "RMS", "4"},
        Bad{"OutOfBounds", "out_of_bounds.cu", "crash",
            "kernel all_reduce .out_of_bounds.cu:14.*after the end of output out of rank"},
        Bad{"WhoseHostTouchesTheDevice", "host_touches_device.cu", "crash",
            "killed by .* in run; its last words: host code touched device memory"},
        Bad{"LocalOnly", "local_only.cu", "wrong_result", "elements"},
        Bad{"UnsupportedInstruction", "unsupported_instruction.cu", "unsupported",
            "the virtual GPU lacks vadd.u32.u32.u32"},
        Bad{"AsksForEver", "asks_for_ever.cu", "crash", "more than 256 calls in one setup"},
        Bad{"UnequalSymmetric", "stays_in_setup.cu", "crash",
            "rank 0 called symmetric.256., but rank 1 finished setup"}),
    [](const auto& test) { return test.param.name; });

TEST(Eval, NamesTheRankThatIsWrong) {
  const TestFolder out;
  eval("1", testdata("wrong_block_on_rank_1.cu"), out.path(), {"--ranks", "3"});
  const nlohmann::json result = only_result(out);
  for (const nlohmann::json& diagnosis : result.at("diagnoses"))
    EXPECT_THAT(diagnosis.at("rank"), testing::AnyOf(1, -1))
        << diagnosis;  // -1: said of no rank in particular
  EXPECT_EQ(result.at("diagnoses").at(0).at("rank"), 1);
}

TEST(Eval, CompilesForTheChosenChip) {
  const TestFolder folder, out;
  const std::filesystem::path file = folder.path() / "for_b200.cu";
  std::ofstream(file) << "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 1000\n#error another chip\n#endif\n"
                      << std::ifstream(PKB_SOURCE "/problems/001_allreduce/solutions/two_shot.cu").rdbuf();
  const Finished done = eval("1", file, out.path(), {"--ranks", "2", "--chip", "b200"});
  EXPECT_EQ(done.exit, 0) << done.output << done.errors;
}

TEST(Eval, CompilerErrorsCarryTheCandidatesOwnLines) {
  const TestFolder out;
  const Finished done = eval("1", testdata("does_not_compile.cu"), out.path());
  EXPECT_THAT(
      done.output,
      HasSubstr("does_not_compile.cu(4): error: class \"pkb::Args\" has no member \"no_such_tensor\""));
}

TEST(Eval, TheSameSeedGivesTheSameResult) {
  const TestFolder first, second;
  for (const TestFolder* out : {&first, &second})
    eval("1", testdata("local_only.cu"), out->path(), {"--ranks", "2", "--seed", "5"});
  EXPECT_EQ(only_result(first).at("diagnoses"), only_result(second).at("diagnoses"));
  const TestFolder third;
  eval("1", testdata("local_only.cu"), third.path(), {"--ranks", "2", "--seed", "6"});
  EXPECT_NE(only_result(first).at("diagnoses"), only_result(third).at("diagnoses"));
}

TEST(Eval, JsonIsOneObjectAndTheFileHoldsTheSame) {
  const TestFolder out;
  const Finished done = eval("1", PKB_SOURCE "/problems/001_allreduce/solutions/peer_load.cu", out.path(),
                             {"--ranks", "2", "--json"});
  ASSERT_EQ(done.exit, 0) << done.errors;
  const nlohmann::json printed = nlohmann::json::parse(done.output);
  EXPECT_EQ(printed, only_result(out));
  EXPECT_EQ(printed.at("schema"), 1);
  EXPECT_EQ(printed.at("problem").at("name"), "allreduce");
  EXPECT_EQ(printed.at("candidate").at("file"), "peer_load.cu");
  EXPECT_GT(printed.at("seed").get<std::uint64_t>(), 0u);
  EXPECT_EQ(printed.at("seed_origin"), "drawn");
}

}  // namespace
}  // namespace pkb::cli
