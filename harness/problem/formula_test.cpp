// SPDX-License-Identifier: Apache-2.0
#include "harness/problem/formula.h"

#include <gmock/gmock.h>

namespace pkb::problem {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Symbols kSymbols = {{"W", 3}, {"M", 97}, {"rank", 2}, {"dst", 2}, {"b", 2}};

struct Case {
  const char* formula;
  double value;
};
class Evaluates : public testing::TestWithParam<Case> {};

TEST_P(Evaluates, ToItsValue) { EXPECT_EQ(evaluate(GetParam().formula, kSymbols), GetParam().value); }

INSTANTIATE_TEST_SUITE_P(
    Formula, Evaluates,
    testing::Values(Case{"W*M", 291}, Case{"rank == dst ? W : 0", 3}, Case{"rank != dst ? W : 0", 0},
                    Case{"ceil(M/W)", 33}, Case{"floor(M/W)", 32}, Case{"mod(M, W)", 1},
                    Case{"mod(0 - 1, W)", 2}, Case{"min(M, W)", 3}, Case{"max(M, W)", 97},
                    Case{"W >= 1 && M < 97", 0}, Case{"W >= 1 || M < 97", 1}, Case{"2^31", 2147483648.0},
                    Case{"M*(W - 1)/W", 97 * 2 / 3.0}, Case{"1e-05", 1e-5}, Case{"b*8", 16}));

TEST(Formula, NamesTheSymbolsItUses) {
  EXPECT_THAT(names_in("W*max(M, K) + M"), ElementsAre("K", "M", "W"));
  EXPECT_THAT(names_in("17"), ElementsAre());
}

struct Refusal {
  const char* formula;
  const char* because;
};
class Refuses : public testing::TestWithParam<Refusal> {};

TEST_P(Refuses, WithItsReason) {
  try {
    evaluate_integer(GetParam().formula, kSymbols);
    FAIL() << "accepted " << GetParam().formula;
  } catch (const FormulaError& error) {
    EXPECT_THAT(error.what(), HasSubstr(GetParam().because));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formula, Refuses,
    testing::Values(Refusal{"W*", "is not a formula"}, Refusal{"", "is not a formula"},
                    Refusal{"W M", "is not a formula"}, Refusal{"shape(W)", "is not a formula"},
                    Refusal{"Q + 1", "needs Q, which has no value"}, Refusal{"W = 4", "is not a formula"},
                    Refusal{"M/W", "not an integer"}, Refusal{"2^53", "not below 2^53"},
                    Refusal{"M/0", "not a finite number"}, Refusal{"mod(M, 0)", "not a finite number"},
                    Refusal{"W, M", "is 2 formulas"}, Refusal{"_pi", "_pi"}));

}  // namespace
}  // namespace pkb::problem
