// SPDX-License-Identifier: Apache-2.0
#include "harness/model/extract.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace pkb::model {
namespace {

const std::string kKernel =
    "#include <pkb/allreduce.h>\n\n__global__ void k() {}\n\nvoid run(pkb::Context& ctx, const pkb::Args& args) {\n  k<<<1, "
    "1, 0, ctx.stream()>>>();\n}\n";

std::string with_comment(const std::string& comment) { return comment + "\n" + kKernel; }

struct Case {
  const char* name;
  std::string reply;
  std::string code;  ///< what must come out
};
class Extract : public testing::TestWithParam<Case> {};
TEST_P(Extract, FindsTheFile) {
  const Extraction found = extract_candidate(GetParam().reply);
  EXPECT_EQ(found.code, GetParam().code) << found.reason;
  EXPECT_EQ(found.reason, "");
}

std::string fenced(const std::string& tag, const std::string& code, const std::string& fence = "```") {
  return fence + tag + "\n" + code + fence + "\n";
}

const std::string kRaw = "const char* text = R\"x(\n```\n)\" {\n)x\";\n" + kKernel;
const std::string kDigits = "constexpr int kBig = 1'000'000; constexpr char kQuote = '\"', kBrace = '{';\n" + kKernel;

INSTANTIATE_TEST_SUITE_P(
    Replies, Extract,
    testing::Values(
        Case{"NoTag", "Here it is:\n" + fenced("", kKernel) + "Enjoy.", kKernel},
        Case{"Cuda", fenced("cuda", kKernel), kKernel}, Case{"Cu", fenced("cu", kKernel), kKernel},
        Case{"CudaCpp", fenced("CUDA C++", kKernel), kKernel},
        Case{"Title", fenced("cpp title=x.cu", kKernel), kKernel}, Case{"Braces", fenced("{.cuda}", kKernel), kKernel},
        Case{"Tildes", fenced("cuda", kKernel, "~~~"), kKernel},
        Case{"FourBackticks", fenced("", kKernel + "// ```\n", "````"), kKernel + "// ```\n"},
        Case{"InAList", "1. The file:\n\n   ```cuda\n   int a;\n   void run(pkb::Context& c, const pkb::Args&) {}\n   ```\n",
             "int a;\nvoid run(pkb::Context& c, const pkb::Args&) {}\n"},
        Case{"CarriageReturns", "```\r\n" "void run(pkb::Context& c) {}\r\n" "```\r\n", "void run(pkb::Context& c) {}\r\n"},
        Case{"Unterminated", "Sure.\n```cuda\n" + kKernel, kKernel}, Case{"Bare", kKernel, kKernel},
        Case{"FileNameLine", "`kernel.cu`\n" + fenced("cuda", kKernel), kKernel},
        Case{"TheLastOfTwo", fenced("cuda", with_comment("// first")) + "Better:\n" + fenced("cuda", kKernel), kKernel},
        Case{"ASnippetBehindIt", fenced("cuda", kKernel) + "Build with:\n" + fenced("sh", "nvcc kernel.cu\n"), kKernel},
        Case{"FenceInAComment", fenced("cuda", with_comment("/* usage:\n```\nrun()\n```\n*/")),
             with_comment("/* usage:\n```\nrun()\n```\n*/")},
        Case{"FenceInARawString", fenced("cuda", kRaw), kRaw}, Case{"QuotesAndDigits", fenced("cuda", kDigits), kDigits},
        Case{"ApostropheInAComment", fenced("cuda", with_comment("// don't {")), with_comment("// don't {")},
        Case{"DotsThatAreCode", fenced("cuda", "template <class... A> void f(A...);\n" + kKernel),
             "template <class... A> void f(A...);\n" + kKernel},
        Case{"ACommentAboutOthers", fenced("cuda", with_comment("// other ranks' kernels need not be resident.")),
             with_comment("// other ranks' kernels need not be resident.")},
        Case{"ACommentAboutTheOriginal", fenced("cuda", with_comment("// unchanged by the loop below, same layout as above")),
             with_comment("// unchanged by the loop below, same layout as above")},
        Case{"ACommentAboutTheRest", fenced("cuda", with_comment("// the rest of the warps copy")),
             with_comment("// the rest of the warps copy")}),
    [](const auto& test) { return test.param.name; });

struct Refusal {
  const char* name;
  std::string reply;
  const char* words;
};
class Refuse : public testing::TestWithParam<Refusal> {};
TEST_P(Refuse, SaysWhy) {
  const Extraction found = extract_candidate(GetParam().reply);
  EXPECT_EQ(found.code, "");
  EXPECT_THAT(found.reason, testing::HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    Replies, Refuse,
    testing::Values(
        Refusal{"Empty", " \n", "empty"}, Refusal{"Prose", "I cannot do that.", "no fenced block"},
        Refusal{"NoRun", fenced("cuda", "__global__ void k() {}\n"), "defines no run"},
        Refusal{"RunInACommentOnly", fenced("cuda", "// void run(pkb::Context& c)\nint a;\n"), "defines no run"},
        Refusal{"CutOff", "```cuda\n" + kKernel.substr(0, kKernel.size() - 4), "breaks off"},
        Refusal{"Elided", fenced("cuda", with_comment("// ... same as before ...")), "leaves code out"},
        Refusal{"SameAsBefore", fenced("cuda", with_comment("// same as before")), "leaves code out"},
        Refusal{"ExistingCode", fenced("cuda", with_comment("  // existing code here")), "leaves code out"},
        Refusal{"Omitted", fenced("cuda", with_comment("// (kernel implementation omitted for brevity)")), "leaves code out"},
        Refusal{"Dots", fenced("cuda", with_comment("// ...")), "leaves code out"},
        Refusal{"RestUnchanged", fenced("cuda", with_comment("/* rest of the code unchanged */")), "leaves code out"},
        Refusal{"Difference",
                fenced("diff", "--- a/k.cu\n+++ b/k.cu\n@@ -1,2 +1,2 @@\n-int a;\n+void run(pkb::Context& c) {}\n"),
                "difference"},
        Refusal{"OneEndlessLine", fenced("", "void run(pkb::Context&) {}" + std::string(1 << 20, 'x') + "\n"), "too long"}),
    [](const auto& test) { return test.param.name; });

TEST(ExtractCandidate, TakesEverySolution) {
  namespace fs = std::filesystem;
  int solutions = 0;
  for (const auto& each : fs::recursive_directory_iterator(PKB_PROBLEMS)) {
    if (each.path().extension() != ".cu" || each.path().parent_path().filename() != "solutions") continue;
    std::ifstream file(each.path());
    const std::string source{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(extract_candidate(fenced("cuda", source)).code, source) << each.path() << extract_candidate(fenced("", source)).reason;
    ++solutions;
  }
  EXPECT_GE(solutions, 9);
}

TEST(ExtractCandidate, DoesNotDependOnWhatTheTextIsMadeOf) {
  // Bytes that are no UTF-8, zeros, fences without end: an answer in any case.
  std::string wild;
  for (int i = 0; i < 4096; ++i) wild += static_cast<char>(i * 37 + (i >> 3));
  for (const std::string& each : {wild, "```\n" + wild, std::string(100'000, '`'), std::string("```\n", 4) + std::string(50'000, '\n')})
    EXPECT_NE(extract_candidate(each).reason, "");
}

}  // namespace
}  // namespace pkb::model
