// SPDX-License-Identifier: Apache-2.0
// The audit on sums over W ranks of K products: every legitimate order must pass for every seed, every
// coarser format must be refused.
#include "harness/check/audit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/check/number.h"

namespace pkb::check {
namespace {

/// One element of C: the factors of each rank, in the run dtype.
struct Element {
  DType dtype;
  int ranks, terms, first_rank;  // where a ring starts
  std::vector<double> a, b;      // rank-major
  double a_of(int rank, int k) const { return a[static_cast<std::size_t>(rank * terms + k)]; }
  double b_of(int rank, int k) const { return b[static_cast<std::size_t>(rank * terms + k)]; }
  double round(double value) const { return round_to(dtype, value); }
};

using Share = std::function<double(const Element&, int rank)>;

double golden(const Element& e) {
  double sum = 0;
  for (std::size_t i = 0; i < e.a.size(); ++i) sum += e.a[i] * e.b[i];
  return sum;
}

/// The product of one rank, fp32 sums from left to right.
double in_order(const Element& e, int rank) {
  float sum = 0;
  for (int k = 0; k < e.terms; ++k)
    sum = std::fma(static_cast<float>(e.a_of(rank, k)), static_cast<float>(e.b_of(rank, k)), sum);
  return sum;
}
double backwards(const Element& e, int rank) {
  float sum = 0;
  for (int k = e.terms; k-- > 0;)
    sum += static_cast<float>(e.a_of(rank, k)) * static_cast<float>(e.b_of(rank, k));
  return sum;
}
double split_in_eight(const Element& e, int rank) {
  float parts[8] = {};
  for (int k = 0; k < e.terms; ++k)
    parts[k % 8] += static_cast<float>(e.a_of(rank, k)) * static_cast<float>(e.b_of(rank, k));
  return ((parts[0] + parts[1]) + (parts[2] + parts[3])) + ((parts[4] + parts[5]) + (parts[6] + parts[7]));
}

/// The factors, or the running sum, held in a coarser format.
Share with_factors_in(DType coarse) {
  return [coarse](const Element& e, int rank) {
    float sum = 0;
    for (int k = 0; k < e.terms; ++k)
      sum += static_cast<float>(round_to(coarse, e.a_of(rank, k)) * round_to(coarse, e.b_of(rank, k)));
    return static_cast<double>(sum);
  };
}
Share with_sums_in(DType coarse) {
  return [coarse](const Element& e, int rank) {
    double sum = 0;
    for (int k = 0; k < e.terms; ++k) sum = round_to(coarse, sum + e.a_of(rank, k) * e.b_of(rank, k));
    return sum;
  };
}
Share sent_in(DType coarse) {
  return [coarse](const Element& e, int rank) { return round_to(coarse, in_order(e, rank)); };
}

/// Rounded shares added along a ring, rounded at each step.
double ring(const Element& e, const Share& share, int first) {
  double sum = e.round(share(e, first % e.ranks));
  for (int i = 1; i < e.ranks; ++i) sum = e.round(sum + e.round(share(e, (first + i) % e.ranks)));
  return sum;
}
double baseline(const Element& e) { return ring(e, in_order, e.first_rank); }
double tree(const Element& e, int first, int ranks) {
  if (ranks == 1) return e.round(in_order(e, first));
  return e.round(tree(e, first, ranks / 2) + tree(e, first + ranks / 2, ranks - ranks / 2));
}
/// Shares added in fp32, rounded once.
double one_shot(const Element& e, const Share& share, bool rounded_shares) {
  float sum = 0;
  for (int rank = 0; rank < e.ranks; ++rank)
    sum += static_cast<float>(rounded_shares ? e.round(share(e, rank)) : share(e, rank));
  return e.round(sum);
}
/// All terms of all ranks in one fp32 chain.
double one_chain(const Element& e) {
  float sum = 0;
  for (int rank = 0; rank < e.ranks; ++rank)
    for (int k = 0; k < e.terms; ++k)
      sum += static_cast<float>(e.a_of(rank, k)) * static_cast<float>(e.b_of(rank, k));
  return e.round(sum);
}

struct Case {
  DType dtype;
  int ranks, terms, elements;
};

using Method = std::function<double(const Element&)>;

/// The names of the methods that the audit refuses on random factors.
std::vector<std::string> refused(const Case& c, std::uint64_t seed,
                                 std::span<const std::pair<const char*, Method>> methods) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Accuracy> accuracy(methods.size());
  Element e{.dtype = c.dtype, .ranks = c.ranks, .terms = c.terms, .first_rank = 0, .a = {}, .b = {}};
  e.a.resize(static_cast<std::size_t>(c.ranks * c.terms));
  e.b.resize(e.a.size());
  for (int i = 0; i < c.elements; ++i) {
    for (double& each : e.a) each = e.round(normal(random));
    for (double& each : e.b) each = e.round(normal(random));
    e.first_rank = i * c.ranks / c.elements;
    const double exact = golden(e), by_baseline = baseline(e);
    for (std::size_t m = 0; m < methods.size(); ++m)
      accuracy[m].add(c.dtype, exact, by_baseline, methods[m].second(e));
  }
  problem::Check check;
  check.kind = problem::Check::Kind::floating;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < methods.size(); ++m)
    if (audit(check, c.dtype, accuracy[m])) names.emplace_back(methods[m].first);
  return names;
}

const std::vector<std::pair<const char*, Method>> kLegitimate = {
    {"ring from rank 0", [](const Element& e) { return ring(e, in_order, 0); }},
    {"own share first", [](const Element& e) { return ring(e, in_order, e.first_rank + 1); }},
    {"tree over ranks", [](const Element& e) { return tree(e, 0, e.ranks); }},
    {"split K", [](const Element& e) { return ring(e, split_in_eight, 0); }},
    {"K backwards", [](const Element& e) { return ring(e, backwards, 1); }},
    {"rounded shares, fp32 sum", [](const Element& e) { return one_shot(e, in_order, true); }},
    {"fp32 shares, fp32 sum", [](const Element& e) { return one_shot(e, split_in_eight, false); }},
    {"one fp32 chain", one_chain},
};

TEST(Audit, AcceptsEveryLegitimateOrder) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const int ranks : {2, 3, 4, 8})
      for (std::uint64_t seed = 0; seed < 6; ++seed)
        EXPECT_THAT(
            refused({.dtype = dtype, .ranks = ranks, .terms = 71, .elements = 250}, seed, kLegitimate),
            testing::IsEmpty())
            << name_of(dtype) << ", W = " << ranks << ", seed " << seed;
}

TEST(Audit, AcceptsEveryLegitimateOrderOfFewElements) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const int elements : {1, 3, 20})
      for (std::uint64_t seed = 0; seed < 1000; ++seed)
        EXPECT_THAT(
            refused({.dtype = dtype, .ranks = 3, .terms = 5, .elements = elements}, seed, kLegitimate),
            testing::IsEmpty())
            << name_of(dtype) << ", " << elements << " elements, seed " << seed;
}

struct Degraded {
  const char* name;
  DType dtype;
  Share share;
};
class AuditRefuses : public testing::TestWithParam<Degraded> {};

TEST_P(AuditRefuses, ACoarserFormat) {
  const std::pair<const char*, Method> method = {
      "degraded", [](const Element& e) { return one_shot(e, GetParam().share, false); }};
  for (const int ranks : {2, 3, 4, 8})
    for (std::uint64_t seed = 0; seed < 3; ++seed)
      EXPECT_THAT(refused({.dtype = GetParam().dtype, .ranks = ranks, .terms = 257, .elements = 250}, seed,
                          {&method, 1}),
                  testing::SizeIs(1))
          << "W = " << ranks << ", seed " << seed;
}

// fp16 stands for TF32 too: as many bits of significand, and these values lie within its range.
INSTANTIATE_TEST_SUITE_P(
    Of, AuditRefuses,
    testing::Values(Degraded{"FactorsInFp8", DType::bf16, with_factors_in(DType::e4m3)},
                    Degraded{"SumsInBf16", DType::bf16, with_sums_in(DType::bf16)},
                    Degraded{"SharesSentInFp8", DType::bf16, sent_in(DType::e4m3)},
                    Degraded{"FactorsOfFp16InBf16", DType::f16, with_factors_in(DType::bf16)},
                    Degraded{"SumsInFp16", DType::f16, with_sums_in(DType::f16)},
                    Degraded{"SharesOfFp16SentInBf16", DType::f16, sent_in(DType::bf16)},
                    Degraded{"FactorsInTf32", DType::f32, with_factors_in(DType::f16)},
                    Degraded{"FactorsOfFp32InBf16", DType::f32, with_factors_in(DType::bf16)},
                    Degraded{"SharesOfFp32SentInFp16", DType::f32, sent_in(DType::f16)},
                    Degraded{"SharesOfFp32SentInBf16", DType::f32, sent_in(DType::bf16)}),
    [](const auto& test) { return test.param.name; });

TEST(Audit, SaysHowMuchWasLost) {
  problem::Check check;
  check.output = "C";
  check.kind = problem::Check::Kind::floating;
  const Accuracy accuracy{
      .candidate = 400, .baseline = 100, .rounding = 50, .rounding_fourth = 0.25, .count = 10'000};
  EXPECT_EQ(
      audit(check, DType::bf16, accuracy),
      "C: every element is within its bound, but the RMS error over all ranks is 0.2, more than 1.56 times "
      "the 0.1 of the baseline: precision was lost");
  EXPECT_EQ(audit(check, DType::f32, accuracy), std::nullopt);
  check.kind = problem::Check::Kind::exact;
  EXPECT_EQ(audit(check, DType::bf16, accuracy), std::nullopt);
}

}  // namespace
}  // namespace pkb::check
