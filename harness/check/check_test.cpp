// SPDX-License-Identifier: Apache-2.0
#include "harness/check/check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "harness/check/number.h"

namespace pkb::check {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class U>
std::vector<std::byte> bytes(std::initializer_list<U> values) {
  std::vector<std::byte> out(values.size() * sizeof(U));
  std::memcpy(out.data(), std::data(values), out.size());
  return out;
}

struct Stored {
  const char* name;
  DType dtype;
  std::uint32_t bits;
  double value;
};
class NumberAt : public testing::TestWithParam<Stored> {};

TEST_P(NumberAt, DecodesTheBits) {
  const Stored& s = GetParam();
  std::byte data[8] = {};
  std::memcpy(data, &s.bits, 4);
  const double got = number_at(s.dtype, data, 0);
  if (std::isnan(s.value))
    EXPECT_TRUE(std::isnan(got));
  else
    EXPECT_EQ(got, s.value);
}

// Patterns from the formats' definitions: IEEE 754, and the OCP 8-bit floating point specification for e4m3,
// e5m2.
INSTANTIATE_TEST_SUITE_P(
    Formats, NumberAt,
    testing::Values(
        Stored{"Bf16One", DType::bf16, 0x3f80, 1}, Stored{"Bf16Largest", DType::bf16, 0x7f7f, 0x1.fep127},
        Stored{"Bf16Subnormal", DType::bf16, 0x0001, 0x1p-133}, Stored{"HalfTwo", DType::f16, 0x4000, 2},
        Stored{"HalfLargest", DType::f16, 0x7bff, 65504},
        Stored{"HalfSubnormal", DType::f16, 0x0001, 0x1p-24},
        Stored{"HalfMinusInfinity", DType::f16, 0xfc00, -kInf}, Stored{"HalfNan", DType::f16, 0x7e00, kNan},
        Stored{"E4m3Largest", DType::e4m3, 0x7e, 448}, Stored{"E4m3Nan", DType::e4m3, 0x7f, kNan},
        Stored{"E4m3Subnormal", DType::e4m3, 0x01, 0x1p-9}, Stored{"E5m2Largest", DType::e5m2, 0x7b, 57344},
        Stored{"E5m2Infinity", DType::e5m2, 0x7c, kInf}, Stored{"Int8", DType::i8, 0x80, -128}),
    [](const auto& test) { return test.param.name; });

TEST(RoundTo, TiesToEvenAndOverflows) {
  EXPECT_EQ(round_to(DType::bf16, 257), 256);  // halfway between 256 and 258
  EXPECT_EQ(round_to(DType::bf16, 259), 260);  // halfway between 258 and 260
  EXPECT_EQ(round_to(DType::f16, 65519), 65504);
  EXPECT_EQ(round_to(DType::f16, 65520), kInf);
  EXPECT_EQ(round_to(DType::f16, -0x1p-25), 0);  // half of the smallest subnormal
  EXPECT_EQ(round_to(DType::f16, 0x1.8p-24), 0x1p-23);
  EXPECT_EQ(round_to(DType::f32, 1 + 0x1p-24), 1);
  EXPECT_EQ(round_to(DType::f32, 0x1.8p-149), 0x1p-148);
  EXPECT_EQ(spacing(DType::bf16, -3), 0x1p-6);
  EXPECT_EQ(spacing(DType::f16, 0), 0x1p-24);
  EXPECT_EQ(largest(DType::f32), std::numeric_limits<float>::max());
  EXPECT_EQ(largest(DType::e4m3), 448);
}

problem::Check floating(double atol, double rtol) {
  problem::Check check;
  check.output = "C";
  check.kind = problem::Check::Kind::floating;
  check.atol = atol;
  check.rtol = rtol;
  return check;
}

struct Element {
  const char* name;
  float got;
  double golden;
  bool passes;
};
class Compare : public testing::TestWithParam<Element> {};

TEST_P(Compare, JudgesOneElement) {
  const Element& e = GetParam();
  const auto got = bytes({e.got});
  const std::int64_t shape[] = {1};
  const Result result = compare(floating(0.5, 0.25), {.name = "C",
                                                      .dtype = DType::f32,
                                                      .shape = shape,
                                                      .got = got,
                                                      .baseline = got,
                                                      .golden = {&e.golden, 1},
                                                      .bound = {}});
  EXPECT_EQ(result.passes(), e.passes) << result.text;
}

constexpr float kNanf = std::numeric_limits<float>::quiet_NaN(),
                kInff = std::numeric_limits<float>::infinity();
INSTANTIATE_TEST_SUITE_P(Bound, Compare,
                         testing::Values(Element{"OnTheBound", 10.5f, 8, true},  // 0.5 + 0.25 * 8 = 2.5
                                         Element{"JustBeyond", 10.500001f, 8, false},
                                         Element{"NanForNumber", kNanf, 8, false},
                                         Element{"NumberForNan", 8, kNan, false},
                                         Element{"NanForNan", kNanf, kNan, true},
                                         Element{"InfinityForNumber", kInff, 8, false},
                                         Element{"InfinityOfOtherSign", kInff, -kInf, false},
                                         Element{"InfinityForInfinity", -kInff, -kInf, true},
                                         Element{"InfinityForOverflow", kInff, 1e39, true},
                                         Element{"NumberForInfinity", 3e38f, kInf, false}),
                         [](const auto& test) { return test.param.name; });

TEST(Compare, NamesTheFirstMismatchAndTheUnwrittenElements) {
  const auto got = bytes<std::uint16_t>({0x3f80, 0x4000, 0xc3c3, 0x3f80});
  const double golden[] = {1, 3, 5, 1};
  const std::int64_t shape[] = {2, 2};
  problem::Check check = floating(0, 0);
  check.model_bound = true;
  const double bound[] = {0.5, 0.5, 0.5, 0.5};
  const Result result = compare(check, {.name = "C",
                                        .dtype = DType::bf16,
                                        .shape = shape,
                                        .got = got,
                                        .baseline = got,
                                        .golden = golden,
                                        .bound = bound,
                                        .poison = std::byte{0xc3}});
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.unwritten, 1);
  EXPECT_EQ(result.text,
            "C: 2 of 4 elements out of bounds, first [0, 1]: got 2, golden 3, bound 0.5; 1 of them were "
            "never written");
}

// Long outputs are compared in pieces, by several threads.
TEST(Compare, ALongOutputIsJudgedAsAWhole) {
  constexpr std::size_t kCount = 1'000'000;
  const std::int64_t shape[] = {kCount};
  std::vector<float> got(kCount, 1);
  const std::vector<double> golden(kCount, 1);
  const auto judge = [&] {
    const auto bytes = std::as_bytes(std::span(got));
    return compare(floating(0.5, 0), {.name = "C",
                                      .dtype = DType::f32,
                                      .shape = shape,
                                      .got = bytes,
                                      .baseline = bytes,
                                      .golden = golden,
                                      .bound = {}});
  };
  got[900'000] = 1.25;
  got[300'000] = 0.875;
  Result result = judge();
  EXPECT_TRUE(result.passes());
  EXPECT_EQ(result.worst, 0.5);
  EXPECT_EQ(result.got, 1.25);
  EXPECT_EQ(result.accuracy.count, std::int64_t{kCount});
  EXPECT_EQ(result.accuracy.candidate, 0.25 * 0.25 + 0.125 * 0.125);
  got[700'000] = 3;
  got[kCount - 1] = 9;
  result = judge();
  EXPECT_EQ(result.mismatches, 2);
  EXPECT_EQ(result.first, 700'000);
  EXPECT_EQ(result.got, 3);
  EXPECT_EQ(result.worst, 16);
}

TEST(Compare, NanIsRightOnlyWhereItWasWritten) {
  const double golden[] = {kNan, kNan, kNan};
  const std::int64_t shape[] = {3};
  const auto got = bytes<std::uint16_t>({0x7fc0, 0xffff, 0xffff}), baseline = bytes<std::uint16_t>({0x7fff, 0x7fff, 0xffff});
  const Result result = compare(floating(0.5, 0), {.name = "C",
                                                   .dtype = DType::bf16,
                                                   .shape = shape,
                                                   .got = got,
                                                   .baseline = baseline,
                                                   .golden = golden,
                                                   .bound = {},
                                                   .poison = std::byte{0xff}});
  EXPECT_EQ(result.mismatches, 1);
  EXPECT_EQ(result.first, 1);
  EXPECT_EQ(result.unwritten, 1);
}

TEST(Compare, IntegersDemandEqualityButNotTheSignOfZero) {
  problem::Check check = floating(1, 0);
  check.exact_on_integers = true;
  const std::int64_t shape[] = {2};
  const double golden[] = {0, 4};
  const auto judge = [&](std::initializer_list<float> values, bool integers) {
    const auto got = bytes(values);
    return compare(check, {.name = "C",
                           .dtype = DType::f32,
                           .shape = shape,
                           .got = got,
                           .baseline = got,
                           .golden = golden,
                           .bound = {},
                           .integers = integers})
        .passes();
  };
  EXPECT_TRUE(judge({-0.0f, 4}, true));
  EXPECT_FALSE(judge({0, 4.5f}, true));
  EXPECT_TRUE(judge({0, 4.5f}, false));
}

TEST(Compare, ExactTellsNanPayloadsAndSignsOfZeroApart) {
  const problem::Check check{.output = "out"};
  const std::int64_t shape[] = {2};
  const auto expected = bytes<std::uint16_t>({0x7fc1, 0x8000});
  const auto judge = [&](std::initializer_list<std::uint16_t> values) {
    const auto got = bytes(values);
    return compare(check, {.name = "out",
                           .dtype = DType::bf16,
                           .shape = shape,
                           .got = got,
                           .baseline = expected,
                           .golden = {},
                           .bound = {}})
        .mismatches;
  };
  EXPECT_EQ(judge({0x7fc1, 0x8000}), 0);
  EXPECT_EQ(judge({0x7fc0, 0x8000}), 1);
  EXPECT_EQ(judge({0x7fc1, 0x0000}), 1);
}

TEST(Compare, RowsMayComeInAnyOrderButNotOftenerOrChanged) {
  const problem::Check check{.output = "out", .kind = problem::Check::Kind::rows};
  const std::int64_t shape[] = {4, 2};
  const auto expected = bytes<std::int32_t>({1, 2, 3, 4, 3, 4, 5, 6});
  const auto judge = [&](std::initializer_list<std::int32_t> values) {
    const auto got = bytes(values);
    return compare(check, {.name = "out",
                           .dtype = DType::i32,
                           .shape = shape,
                           .got = got,
                           .baseline = expected,
                           .golden = {},
                           .bound = {}});
  };
  EXPECT_TRUE(judge({3, 4, 5, 6, 1, 2, 3, 4}).passes());
  EXPECT_EQ(judge({3, 4, 1, 2, 1, 2, 5, 6}).mismatches, 2);
  EXPECT_EQ(judge({3, 4, 1, 2, 1, 2, 5, 6}).first, 4);
  EXPECT_EQ(judge({3, 4, 3, 4, 3, 4, 5, 6}).mismatches, 2);
  EXPECT_EQ(judge({1, 2, 3, 4, 3, 4, 5, 7}).first, 6);
  EXPECT_EQ(judge({1, 4, 3, 2, 3, 4, 5, 6}).mismatches, 4);
}

TEST(Compare, TheProblemsOwnCheckDecides) {
  const problem::Check check{.output = "out", .kind = problem::Check::Kind::custom};
  const std::int64_t shape[] = {3};
  const auto got = bytes<float>({1, 2, 3});
  const auto judge = [&](const std::vector<double>& shares) {
    return compare(check, {.name = "out",
                           .dtype = DType::f32,
                           .shape = shape,
                           .got = got,
                           .baseline = got,
                           .golden = {},
                           .bound = shares});
  };
  EXPECT_TRUE(judge({0, 1, 0.5}).passes());
  EXPECT_EQ(judge({0, 1, 0.5}).worst, 1);
  EXPECT_EQ(judge({0, 1.001, 0.5}).first, 1);
  EXPECT_EQ(judge({kNan, 1, 0.5}).first, 0);
  EXPECT_THROW(judge({0, 1}), std::invalid_argument);
}

TEST(Compare, AnEmptyOutputPasses) {
  const std::int64_t shape[] = {0, 5};
  EXPECT_TRUE(compare({.output = "out"},
                      {.name = "out", .shape = shape, .got = {}, .baseline = {}, .golden = {}, .bound = {}})
                  .passes());
}

TEST(Compare, RefusesSizesThatDoNotMatch) {
  const std::int64_t shape[] = {3};
  const auto got = bytes({1.0f});
  EXPECT_THROW(compare(floating(1, 1), {.name = "C",
                                        .dtype = DType::f32,
                                        .shape = shape,
                                        .got = got,
                                        .baseline = got,
                                        .golden = {},
                                        .bound = {}}),
               std::invalid_argument);
}

TEST(FirstChange, CountsElements) {
  const auto before = bytes<std::uint16_t>({1, 2, 3}), after = bytes<std::uint16_t>({1, 2, 0x103});
  EXPECT_EQ(first_change(before, before, DType::bf16), std::nullopt);
  EXPECT_EQ(first_change(before, after, DType::bf16), 2);
}

}  // namespace
}  // namespace pkb::check
