// SPDX-License-Identifier: Apache-2.0
#include "harness/prompt/prompt.h"

#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/error/error.h"
#include "harness/prompt/template.h"

namespace pkb::prompt {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const fs::path kSource = PKB_SOURCE;

class PromptTest : public testing::Test {
 protected:
  void SetUp() override {
    x_own = fs::path(testing::TempDir()) / ("prompt-" + std::to_string(::getpid()));
    fs::remove_all(x_own);
    fs::create_directories(x_own);
  }
  void TearDown() override { fs::remove_all(x_own); }

  void replace(const std::string& file, const std::string& text) const { std::ofstream(x_own / file) << text; }
  Sources sources() const {
    return {.problems = kSource / "problems",
            .templates = kSource / "prompts",
            .own = x_own,
            .headers = kSource / "harness/candidate/include"};
  }
  std::string task(const std::string& name, const Options& options = {}) const {
    return prompt::task(problem::find(kSource / "problems", name), options, sources());
  }

  fs::path x_own;
};

TEST_F(PromptTest, EveryProblemHasAWholeOne) {
  for (const problem::Problem& each : problem::load_all(kSource / "problems"))
    for (const Style style : {Style::zero_shot, Style::few_shot}) {
      const std::string text =
          prompt::task(each, {.style = style, .hardware = &roofline::find_hardware("h200"), .primitives = true}, sources());
      EXPECT_THAT(text, HasSubstr(each.title()));
      EXPECT_THAT(text, HasSubstr("#include <pkb/" + each.name() + ".h>"));
      EXPECT_THAT(text, HasSubstr("Tensors reference(Context& ctx, const Tensors& in)"));
      EXPECT_THAT(text, HasSubstr("class Context"));
      EXPECT_THAT(text, HasSubstr("8 x NVIDIA H200"));
      EXPECT_THAT(text, Not(HasSubstr("&lt;")));
      EXPECT_EQ(prompt::task(each, {.style = style, .hardware = &roofline::find_hardware("h200"), .primitives = true}, sources()), text);
      if (!fs::exists(each.folder() / "solutions")) continue;
      for (const auto& solution : fs::directory_iterator(each.folder() / "solutions")) {
        std::ifstream file(solution.path());
        const std::string whole{std::istreambuf_iterator<char>(file), {}};
        // Not even a part of it: the second half of the longest solution of the problem itself.
        EXPECT_THAT(text, Not(HasSubstr(whole.substr(whole.size() / 2)))) << solution.path();
      }
    }
}

TEST_F(PromptTest, ShowsAsManyExamplesAsTheStyleSays) {
  const auto count = [&](Style style) {
    const std::string text = task("008_alltoall", {.style = style});
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find("A correct candidate:", at)) != std::string::npos; ++at) ++found;
    return found;
  };
  EXPECT_EQ(count(Style::zero_shot), 0u);
  EXPECT_EQ(count(Style::one_shot), 1u);
  EXPECT_EQ(count(Style::few_shot), 3u);
}

TEST_F(PromptTest, TellsTheHardwareThatWasAsked) {
  const std::string text = task("1", {.hardware = &roofline::find_hardware("a100"), .gpus = 4});
  EXPECT_THAT(text, HasSubstr("4 x NVIDIA A100"));
  EXPECT_THAT(text, HasSubstr("(`multimem` instructions): no."));
}

TEST_F(PromptTest, LeavesOutWhatWasNotAsked) {
  EXPECT_THAT(task("1"), Not(HasSubstr("# Device primitives")));
  EXPECT_THAT(task("1", {.primitives = true}), HasSubstr("# Device primitives"));
}

TEST_F(PromptTest, TakesTemplatesOfTheUser) {
  const std::string before = task("1");
  replace("format.mustache", "Answer in verse about {{name}} <&>.\n");
  const std::string after = task("1");
  EXPECT_THAT(after, HasSubstr("Answer in verse about allreduce <&>."));
  EXPECT_THAT(after, HasSubstr("All ranks are idle between"));
  EXPECT_NE(before, after);
}

TEST_F(PromptTest, RefusesTemplatesWithMistakes) {
  for (const auto& [text, words] : {std::pair{"{{nmae}}", "nmae"}, {"{{#sizes}} open", "sizes"}, {"{{> nowhere}}", "nowhere"}}) {
    replace("format.mustache", text);
    try {
      task("1");
      FAIL() << text;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), HasSubstr(words));
    }
  }
}

TEST_F(PromptTest, AnswersAFailureWithItsCause) {
  const std::string text = repair(
      {{"verdict", "wrong_result"}, {"diagnoses", {{{"rank", 2}, {"text", "the share of rank 3 is missing"}}}}}, sources());
  EXPECT_THAT(text, HasSubstr("**wrong_result**"));
  EXPECT_THAT(text, HasSubstr("rank 2: the share of rank 3 is missing"));
  EXPECT_THAT(text, Not(HasSubstr("compiler")));
}

TEST_F(PromptTest, ShortensWhatTheCompilerSaid) {
  const std::string text =
      repair({{"verdict", "compile_error"},
              {"compile", {{"text", "first error\n" + std::string(100'000, 'x') + "\nlast error"}}}},
             sources());
  EXPECT_THAT(text, HasSubstr("first error"));
  EXPECT_THAT(text, HasSubstr("last error"));
  EXPECT_LT(text.size(), 8000u);
}

TEST_F(PromptTest, AnswersSuccessWithTheTime) {
  const json timing = {{"candidate", {{"median_ms", 0.5}}},
                       {"baseline", {{"median_ms", 1.0}}},
                       {"speedup", {{"value", 2.0}}},
                       {"roofline", {{"least_ms", 0.25}, {"limit", "links"}}}};
  const std::string text = repair({{"verdict", "correct"}, {"timing", timing}}, sources());
  EXPECT_THAT(text, HasSubstr("It takes 0.5000 ms, the baseline 1.0000 ms: a speedup of 2.000"));
  EXPECT_THAT(text, HasSubstr("bound is 0.2500 ms, by\nlinks"));
  EXPECT_THAT(repair({{"verdict", "correct"}}, sources()), Not(HasSubstr("It takes")));
}

TEST_F(PromptTest, AnswersAReplyWithoutCode) {
  EXPECT_THAT(repair({{"verdict", "no_code"}, {"reason", "the reply is empty"}}, sources()),
              HasSubstr("the reply is empty"));
}

}  // namespace
}  // namespace pkb::prompt
