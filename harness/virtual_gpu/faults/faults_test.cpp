// SPDX-License-Identifier: Apache-2.0
// Every form of every candidate here through the judge: faults are found and named, the forms beside them are
// silent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "harness/cli/process.h"
#include "harness/virtual_gpu/faults/corpus.h"

namespace pkb::virtual_gpu::faults {
namespace {

using testing::HasSubstr;

const std::filesystem::path kFolder = PKB_SOURCE "/harness/virtual_gpu/faults";
constexpr std::chrono::seconds kPatience(280);  // what includes CUB compiles slowly on a busy machine

class Candidate : public testing::TestWithParam<Case> {};

TEST_P(Candidate, IsJudgedAsExpected) {
  const Case& each = GetParam();
  if (!each.expected.missing.empty()) GTEST_SKIP() << "not found yet: " << each.expected.missing;
  const cli::TestFolder folder, out;
  const std::filesystem::path file = folder.path() / each.source.filename();
  std::ofstream(file) << candidate_of(each);
  cli::Command command{.words = {PKB_EXECUTABLE, "eval", std::to_string(each.problem), file, "--device",
                                 "virtual", "--ranks", std::to_string(each.ranks), "--json", "--out",
                                 out.path()}};
  command.words.insert(command.words.end(), each.options.begin(), each.options.end());
  command.environment["XDG_CACHE_HOME"] = PKB_TEST_CACHE;
  cli::Process evaluation(command);
  evaluation.wait(kPatience);
  const std::string result = evaluation.output();
  if (result.find(R"("verdict":"unsupported")") != std::string::npos) GTEST_SKIP() << result;
  EXPECT_EQ(objection(each, result), "") << evaluation.errors();
}

std::string name_of(const testing::TestParamInfo<Case>& test) { return test.param.name; }

INSTANTIATE_TEST_SUITE_P(Field, Candidate, testing::ValuesIn(read_manifest(kFolder / "field.json")), name_of);
INSTANTIATE_TEST_SUITE_P(Planted, Candidate, testing::ValuesIn(read_manifest(kFolder / "planted.json")),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Correct, Candidate, testing::ValuesIn(read_manifest(kFolder / "correct.json")),
                         name_of);

// That a judgement can be wrong, on results as `pkb eval` prints them.
struct Judgement {
  const char* name;
  const char* verdict;
  const char* text;  // of the only diagnosis; empty: there is none
  const char* objection;
};
class Objection : public testing::TestWithParam<Judgement> {};

TEST_P(Objection, IsRaised) {
  const Judgement& judged = GetParam();
  const Case fault{.name = "fault",
                   .source = kFolder / "field/relaxed_handshake.cu",
                   .form = "RELAXED",
                   .problem = 1,
                   .ranks = 3,
                   .options = {},
                   .expected = {.verdicts = {"race", "correct"}, .says = {"Race", "release|acquire"}}};
  const std::string text = judged.text;
  const std::string diagnosis = text.empty() ? "" : R"({"verdict": "race", "text": ")" + text + "\"}";
  EXPECT_THAT(objection(fault, std::string(R"({"verdict": ")") + judged.verdict +
                                   R"(", "compile": {"text": ""},)" + R"("diagnoses": [)" + diagnosis + "]}"),
              HasSubstr(judged.objection));
}

INSTANTIATE_TEST_SUITE_P(
    To, Objection,
    testing::Values(Judgement{"AnotherVerdict", "crash", "", "expected race or correct, got crash"},
                    Judgement{"AnotherText", "race", "race without a cause", "no diagnosis says"},
                    Judgement{"NoDiagnosis", "race", "", "no diagnosis says"},
                    Judgement{"NoiseOfACorrectOne", "correct", "race", "correct, but not silent"}),
    [](const auto& test) { return test.param.name; });

TEST(Candidates, KeepTheirLines) {
  const Case each = read_manifest(kFolder / "field.json").front();
  const std::string text = candidate_of(each);
  EXPECT_EQ(text.find("#define "), 0u);
  EXPECT_THAT(text, HasSubstr("#line 1 \"peers.cuh\"\n// SPDX"));
  EXPECT_THAT(text, HasSubstr("#line 7 \"relaxed_handshake.cu\"\n\nstruct State"));
  EXPECT_THAT(text, testing::Not(HasSubstr("#include \"")));
}

}  // namespace
}  // namespace pkb::virtual_gpu::faults
