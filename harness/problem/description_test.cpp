// SPDX-License-Identifier: Apache-2.0
// What is refused in a problem.json, and with which words: each case changes one thing in a good description.
#include "harness/problem/description.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <random>

namespace pkb::problem {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr const char* kGood = R"({
  "id": 13,
  "name": "gemm",
  "title": "GEMM",
  "family": "tensor parallel",
  "parallelism": "one group",
  "workload": "a layer",
  "symbols": {"M": "rows", "K": "inner"},
  "params": {"src": {"default": 0, "doc": "root"}, "scale": {"default": 0.5, "type": "real", "doc": "factor"}},
  "groups": [{"name": "tp", "size": 2, "stride": 1}],
  "inputs": [{"name": "A", "shape": ["M", "K"], "dtype": "T", "doc": "operand", "values": [{"kind": "normal"}]}],
  "outputs": [{"name": "C", "shape": ["M"], "dtype": "fp32", "doc": "result"}],
  "sizes": {
    "tiny": {"ranks": [4, 2], "M": 3, "K": 5, "variants": [{"src": "W - 1"}]},
    "small": {"ranks": [4], "M": 3, "K": 5},
    "paper": {"ranks": [4], "M": 3, "K": 5},
    "full": {"ranks": [4], "M": 3, "K": 5}
  },
  "constraints": [{"require": "mod(W, 2) == 0", "message": "the number of ranks must be even"}],
  "check": {"C": {"kind": "floating", "atol": 0.5}},
  "cost": {"flops": "2*M*K", "hbm": "M*K*b", "sent": 0, "received": 0}
})";

/// A folder 013_gemm with one problem.json, removed at the end.
class Folder {
 public:
  explicit Folder(const std::string& text, const std::string& name = "013_gemm")
      : x_root(std::filesystem::temp_directory_path() / ("pkb_description_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(x_root / name);
    x_path = x_root / name;
    std::ofstream(x_path / "problem.json", std::ios::binary) << text;
  }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(x_root); }
  const std::filesystem::path& path() const { return x_path; }

 private:
  std::filesystem::path x_root, x_path;
};

std::string changed(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the good description has no " << from;
  return text.replace(at, from.size(), to);
}

std::string refusal(const std::string& text) {
  const Folder folder(text);
  try {
    describe(folder.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Description, IsReadAsWritten) {
  const Folder folder(kGood);
  const Description d = describe(folder.path());
  EXPECT_EQ(d.id, 13);
  EXPECT_EQ(d.folder.filename(), "013_gemm");
  ASSERT_EQ(d.parameters.size(), 4u);
  EXPECT_EQ(d.parameters[0].name, "M");
  EXPECT_EQ(d.parameters[1].name, "K");
  EXPECT_EQ(d.parameters[2].value, "0");
  EXPECT_TRUE(d.parameters[3].real);
  EXPECT_FALSE(d.inputs[0].dtype.has_value());
  EXPECT_EQ(d.outputs[0].dtype, DType::f32);
  EXPECT_EQ(d.sizes[0].variants[0].at("src"), "W - 1");
  EXPECT_EQ(d.checks[0].check.atol, 0.5);
}

struct Change {
  const char* name;
  const char* from;
  const char* to;
  const char* message;
};
class Refused : public testing::TestWithParam<Change> {};

TEST_P(Refused, NamesFieldFaultAndRemedy) {
  const std::string message = refusal(changed(GetParam().from, GetParam().to));
  EXPECT_THAT(message, HasSubstr("013_gemm/problem.json: "));
  EXPECT_THAT(message, EndsWith(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Description, Refused,
    testing::Values(
        Change{"MissingSymbol", R"("M": 3, "K": 5, "variants")", R"("M": 3, "variants")",
               "sizes.tiny: no value for K, which inputs.A needs; add \"K\""},
        Change{"UndeclaredSymbol", R"("M": 3, "K": 5, "variants")", R"("M": 3, "K": 5, "Q": 1, "variants")",
               "sizes.tiny: Q is neither a symbol nor a parameter; declared are K, M, scale, src"},
        Change{
            "UndeclaredInVariant", R"({"src": "W - 1"})", R"({"dst": "W - 1"})",
            "sizes.tiny.variants[0]: dst is neither a symbol nor a parameter; declared are K, M, scale, src"},
        Change{"UndeclaredInShape", R"(["M", "K"])", R"(["M", "Q"])",
               "inputs.A.shape: \"Q\" uses Q, which is neither a symbol nor a parameter; declared are K, M, "
               "scale, src"},
        Change{"RankOutsideShapes", R"("flops": "2*M*K")", R"("flops": "2*M*rank")",
               "cost.flops: \"2*M*rank\" uses rank, which is neither a symbol nor a parameter; "
               "declared are K, M, scale, src"},
        Change{"FormulaSyntax", R"(["M", "K"])", R"(["M", "K*"])",
               "see problems/README.md for what a formula may contain"},
        Change{"MissingMember", R"("title": "GEMM",)", "",
               "problem.json: \"title\" is missing; add it: a text that is not empty"},
        Change{"MissingSize", R"("full": {"ranks": [4], "M": 3, "K": 5})",
               R"("huge": {"ranks": [4], "M": 3, "K": 5})",
               "sizes: \"full\" is missing; add it: an object with ranks, a value for every symbol, and "
               "variants"},
        Change{"UnknownMember", R"("doc": "operand")", R"("doc": "operand", "layout": "row")",
               "inputs[0]: \"layout\" is not known here; known are doc, dtype, in_out, name, replicated, "
               "shape, values"},
        Change{"WrongType", R"("id": 13)", R"("id": "13")",
               "id: \"13\" does not fit; expected an integer from 1 to 999, the number in the folder's name"},
        Change{"WrongDtype", R"("dtype": "fp32")", R"("dtype": "float")",
               "outputs[0].dtype: \"float\" does not fit; expected \"T\" (the run dtype) or one of bf16, "
               "fp16, fp32, fp64, "
               "int8, uint8, int32, int64, fp8_e4m3, fp8_e5m2"},
        Change{"BadSymbolName", R"("symbols": {"M": "rows",)", R"("symbols": {"M": "rows", "2x": "bad",)",
               "symbols: \"2x\" is no name; names are letters, digits and underscores after a letter"},
        Change{"NotAnExtent", R"(["M", "K"])", R"(["M", true])",
               "inputs[0].shape[1]: true does not fit; expected an integer or a formula such as \"W*M\""},
        Change{"ZeroRanks", R"("ranks": [4, 2])", R"("ranks": [0])",
               "sizes.tiny.ranks[0]: 0 does not fit; expected a number of ranks, 1 to 1024"},
        Change{"IdOfAnotherFolder", R"("id": 13)", R"("id": 14)",
               "id: id 14 and name gemm do not fit the folder 013_gemm; "
               "rename the folder to 014_gemm, or correct id and name"},
        Change{"NameTaken", R"("name": "C")", R"("name": "M")",
               "outputs.M: the name M is taken; tensors, symbols and params need different names"},
        Change{"BuiltinName", R"("symbols": {"M": "rows",)", R"("symbols": {"M": "rows", "W": "width",)",
               "symbols.W: W has a meaning of its own (W ranks, b bytes of T, rank, T); choose another name"},
        Change{"NumberTooLarge", R"("M": 3, "K": 5, "variants")",
               R"("M": 3, "K": 9007199254740993, "variants")",
               "sizes.tiny.K: 9007199254740993 is not below 2^53; give a smaller number"},
        Change{"CheckOfNothing", R"("check": {"C")", R"("check": {"D": {"kind": "exact"}, "C")",
               "check.D: there is no such output, nor an input that is in_out; name one"},
        Change{
            "OutputUnchecked", R"("dtype": "fp32", "doc": "result"})",
            R"("dtype": "fp32", "doc": "result"}, {"name": "D", "shape": [1], "dtype": "T", "doc": "more"})",
            "check: nothing says how D is judged; add \"D\": {\"kind\": \"exact\"} or a floating check"},
        Change{"TwoBounds", R"("atol": 0.5)", R"("atol": 0.5, "model_bound": true)",
               "check.C: a floating check has either a model_bound or atol and rtol; give one of the two"},
        Change{"ExactWithBound", R"({"kind": "floating", "atol": 0.5})", R"({"kind": "exact", "atol": 0.5})",
               "check.C: only a floating check has a bound; remove all but kind"},
        Change{"ValuesOfAnotherKind", R"({"kind": "normal"})", R"({"kind": "bits", "mean": 1})",
               "inputs.A.values: \"mean\" means nothing for bits; bits takes kind"},
        Change{"RangeWithoutEnd", R"({"kind": "normal"})", R"({"kind": "integers", "low": 1})",
               "inputs.A.values: integers needs low and high; add both"},
        Change{"RangeReversed", R"({"kind": "normal"})", R"({"kind": "integers", "low": 1, "high": 0})",
               "inputs.A.values: low 1 leaves nothing below high 0; swap them"},
        Change{"GroupNamedWorld", R"("name": "tp")", R"("name": "world")",
               "groups.world: this group exists already; choose another name"},
        Change{"MemberTwice", R"("family": "tensor parallel",)",
               R"("family": "tensor parallel", "family": "x",)",
               "problem.json: \"family\" stands twice in one object; remove one"}),
    [](const auto& test) { return test.param.name; });

TEST(Description, SyntaxErrorsHaveLineAndColumn) {
  // Line 3 of the good description ends in a comma; without it, line 4's key stands where it should.
  EXPECT_THAT(refusal(changed("\"name\": \"gemm\",", "\"name\": \"gemm\"")),
              HasSubstr("problem.json: line 4, column "));
  EXPECT_THAT(refusal("{\"id\": 13"), HasSubstr("line 1, column 10: syntax error"));
  EXPECT_THAT(refusal(""), HasSubstr("line 1, column 1: "));  // the rest differs between versions of the parser
  EXPECT_THAT(refusal("{\"id\": 1e400}"), HasSubstr("correct the JSON"));
  EXPECT_THAT(refusal("\xff\xfe{}"), HasSubstr("line 1, column 1"));
}

TEST(Description, HostileNestingIsRefused) {
  const std::string deep = std::string(100000, '[');
  EXPECT_THAT(refusal(deep), HasSubstr("nested deeper than 16 levels"));
  EXPECT_THAT(refusal(std::string((1 << 20) + 1, ' ')), HasSubstr("larger than 1 MiB"));
}

TEST(Description, OtherDocumentsAreRefused) {
  EXPECT_THAT(refusal("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("is missing"));
}

// Whatever happens to a description, it is read or refused by an InputError: nothing else is thrown.
TEST(Description, MutationsAreReadOrRefused) {
  constexpr std::string_view kPieces[] = {"\"",  "{",    "}",    "[", "]", ",", ":",  "-1",
                                          "1e9", "null", "true", "M", "W", "(", "\\", "\xc3"};
  std::minstd_rand random(7);
  int refused = 0;
  for (int i = 0; i < 1500; ++i) {
    std::string text = kGood;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % text.size();
      text.replace(at, random() % 4, kPieces[random() % std::size(kPieces)]);
    }
    const Folder folder(text);
    try {
      const Problem problem = Problem::load(folder.path());
      problem.check_sizes();
      EXPECT_THAT(problem.candidate_header(), HasSubstr("struct Args"));
    } catch (const InputError&) {
      ++refused;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  }
  EXPECT_GT(refused, 700);
  EXPECT_LT(refused, 1500);
}

TEST(Description, MissingAndUnreadableFiles) {
  EXPECT_THROW(describe("/nonexistent/013_gemm"), InputError);
  const Folder folder(kGood);
  std::filesystem::remove(folder.path() / "problem.json");
  std::filesystem::create_directory(folder.path() / "problem.json");
  try {
    describe(folder.path());
    FAIL() << "accepted a folder";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), EndsWith("problem.json: not a regular file"));
  }
}

}  // namespace
}  // namespace pkb::problem
