// SPDX-License-Identifier: Apache-2.0
// Outputs of a sum over ranks, and of a gather, broken in every known way: each must be named so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "harness/check/number.h"
#include "harness/diagnosis/diagnosis.h"

namespace pkb::diagnosis {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 12, kColumns = 21;
constexpr std::byte kPoison{0xFF};

/// One rank's view of a sum of `ranks` shares in bf16.
struct Sum {
  int ranks;
  std::vector<std::vector<double>> shares;
  std::vector<double> golden, stale;

  explicit Sum(int w) : ranks(w) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const auto draw = [&] {
      std::vector<double> values(kRows * kColumns);
      for (double& each : values) each = check::round_to(DType::bf16, normal(random));
      return values;
    };
    for (int rank = 0; rank < ranks; ++rank) shares.push_back(draw());
    stale = draw();
    golden = weighted(std::vector<double>(static_cast<std::size_t>(ranks), 1));
  }

  std::vector<double> weighted(const std::vector<double>& weights) const {
    std::vector<double> sum(kRows * kColumns);
    for (std::size_t rank = 0; rank < shares.size(); ++rank)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[rank] * shares[rank][i];
    return sum;
  }

  std::vector<double> without(int rank) const {
    std::vector<double> weights(static_cast<std::size_t>(ranks), 1);
    weights[static_cast<std::size_t>(rank)] = 0;
    return weighted(weights);
  }

  std::vector<double> twice(int rank) const {
    std::vector<double> weights(static_cast<std::size_t>(ranks), 1);
    weights[static_cast<std::size_t>(rank)] = 2;
    return weighted(weights);
  }

  std::vector<Hypothesis> hypotheses() const {
    std::vector<Hypothesis> all = {{Class::stale, "the values of the iteration before", stale},
                                   {Class::not_reduced, "not reduced", shares[0]}};
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back({Class::contribution_missing, "the share of rank " + std::to_string(rank) + " is missing",
                     without(rank)});
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back({Class::contribution_doubled,
                     "the share of rank " + std::to_string(rank) + " counts twice", twice(rank)});
    return all;
  }

  /// By all wrong elements or, where there are more, by about `most`.
  Explanation explain(const std::vector<double>& values, std::int64_t most) const {
    std::vector<double> got(values.size()), bound(values.size());
    std::vector<std::byte> bytes(values.size() * 2);
    for (std::size_t i = 0; i < got.size(); ++i) {
      got[i] = check::round_to(DType::bf16, values[i]);
      const auto narrow = static_cast<float>(got[i]);
      std::memcpy(&bytes[2 * i], reinterpret_cast<const std::byte*>(&narrow) + 2, 2);
      if (std::isnan(values[i]) && std::signbit(values[i])) bytes[2 * i] = bytes[2 * i + 1] = kPoison;
      for (const std::vector<double>& share : shares) bound[i] += ranks * 0x1p-8 * std::fabs(share[i]);
    }
    const std::int64_t shape[] = {kRows, kColumns};
    Evidence evidence{.dtype = DType::bf16,
                      .shape = shape,
                      .got = got,
                      .golden = golden,
                      .bound = bound,
                      .bytes = bytes,
                      .poison = kPoison,
                      .ranks = ranks};
    const std::vector<std::int64_t> wrong = find_wrong(evidence, most);
    EXPECT_FALSE(wrong.empty());
    EXPECT_LE(std::ssize(wrong), most);
    evidence.wrong = wrong;
    std::vector<Hypothesis> there = hypotheses();
    for (Hypothesis& each : there) {
      std::vector<double> chosen;
      for (const std::int64_t i : wrong) chosen.push_back(each.values[static_cast<std::size_t>(i)]);
      each.values = chosen;
    }
    Explanation found = diagnosis::explain(evidence, there);
    if (found.what != Class::unknown) {
      EXPECT_GE(static_cast<double>(found.explained), 0.9 * static_cast<double>(wrong.size()));
    }
    return found;
  }
};

using Values = std::vector<double>;
struct Broken {
  std::string name;
  std::function<Values(const Sum&)> values;
  Class what;
  const char* sentence;
};
class Explains : public testing::TestWithParam<std::tuple<int, int, Broken>> {};

TEST_P(Explains, ABrokenSum) {
  const auto& [ranks, most, broken] = GetParam();
  const Sum sum(ranks);
  const Explanation found = sum.explain(broken.values(sum), most);
  EXPECT_EQ(name_of(found.what), name_of(broken.what)) << found.sentence;
  EXPECT_THAT(found.sentence, HasSubstr(broken.sentence));
}

Values where(const Sum& sum, const Values& other,
             const std::function<bool(std::int64_t row, std::int64_t column)>& chosen) {
  Values values = sum.golden;
  for (std::int64_t i = 0; i < kRows * kColumns; ++i)
    if (chosen(i / kColumns, i % kColumns))
      values[static_cast<std::size_t>(i)] = other[static_cast<std::size_t>(i)];
  return values;
}
Values garbage() {
  Values values(kRows * kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 50 + static_cast<double>(i * 37 % 101);
  return values;
}
Values moved(const Sum& sum, std::int64_t by) {
  Values values = sum.golden;
  std::ranges::rotate(values, by > 0 ? values.end() - by : values.begin() - by);
  return values;
}

const Broken kBroken[] = {
    {"Unwritten", [](const Sum&) { return Values(kRows * kColumns, -std::nan("")); }, Class::unwritten,
     "never written"},
    {"UnwrittenRows",
     [](const Sum& s) {
       return where(s, Values(kRows * kColumns, -std::nan("")), [](auto row, auto) { return row > 8; });
     },
     Class::unwritten, "never written"},
    {"Stale", [](const Sum& s) { return s.stale; }, Class::stale, "iteration before"},
    {"NotReduced", [](const Sum& s) { return s.shares[0]; }, Class::not_reduced, "not reduced"},
    {"Missing", [](const Sum& s) { return s.without(2); }, Class::contribution_missing, "rank 2"},
    {"MissingInSomeRows",
     [](const Sum& s) { return where(s, s.without(1), [](auto row, auto) { return row < 4; }); },
     Class::contribution_missing, "rank 1"},
    {"Doubled", [](const Sum& s) { return s.twice(1); }, Class::contribution_doubled, "rank 1"},
    {"Permuted", [](const Sum& s) { return moved(s, kRows / s.ranks * kColumns); }, Class::permuted_blocks,
     "blocks"},
    {"ShiftedByOne", [](const Sum& s) { return moved(s, 1); }, Class::shifted, "1 element too late"},
    {"ShiftedBack", [](const Sum& s) { return moved(s, -3); }, Class::shifted, "3 elements too early"},
    {"Transposed",
     [](const Sum& s) {
       Values values(s.golden.size());
       for (std::int64_t i = 0; i < kRows * kColumns; ++i)
         values[static_cast<std::size_t>(i)] =
             s.golden[static_cast<std::size_t>(i % kRows * kColumns + i / kRows)];
       return values;
     },
     Class::transposed, "exchanged"},
    {"NanSpread",
     [](const Sum& s) {
       return where(s, Values(kRows * kColumns, std::nan("")), [](auto row, auto) { return row == 5; });
     },
     Class::nan_spread, "NaN"},
    {"Fp8",
     [](const Sum& s) {
       Values values;
       for (const double each : s.golden) values.push_back(check::round_to(DType::e4m3, each));
       return values;
     },
     Class::coarse_rounding, "4 significant bits"},
    {"Noise",
     [](const Sum& s) {
       Values values = s.golden;
       for (std::size_t i = 0; i < values.size(); ++i) values[i] += i % 2 == 0 ? 0.15 : -0.15;
       return values;
     },
     Class::coarse_rounding, "precision"},
    {"TailOfRows",
     [](const Sum& s) { return where(s, garbage(), [](auto, auto column) { return column >= 16; }); },
     Class::tail, "columns from 16 on"},
    {"LastElements",
     [](const Sum& s) {
       return where(s, garbage(), [](auto row, auto column) { return row * kColumns + column >= 248; });
     },
     Class::tail, "columns from 16 on"},
    {"Boundary",
     [](const Sum& s) {
       return where(s, garbage(),
                    [](auto row, auto column) { return row == 0 || row == kRows - 1 || column == 0; });
     },
     Class::boundary, "first or last"},
    {"Garbage", [](const Sum&) { return garbage(); }, Class::unknown, "no known pattern"},
};

INSTANTIATE_TEST_SUITE_P(Sums, Explains,
                         testing::Combine(testing::Values(3, 4), testing::Values(1 << 20, 100),
                                          testing::ValuesIn(kBroken)),
                         [](const auto& test) {
                           return std::get<2>(test.param).name + std::to_string(std::get<0>(test.param)) +
                                  "OfAtMost" + std::to_string(std::get<1>(test.param));
                         });

TEST(Explain, FindsWhichBlocksOfAGatherLieWhere) {
  Values golden(4 * 6), got(4 * 6);
  std::iota(golden.begin(), golden.end(), 100);
  const int source[] = {0, 2, 1, 1};  // 3 is lost
  for (std::size_t i = 0; i < got.size(); ++i)
    got[i] = golden[static_cast<std::size_t>(source[i / 6]) * 6 + i % 6];
  const Values exact(golden.size());
  const std::vector<std::byte> bytes(got.size() * 4);
  const std::int64_t shape[] = {4, 6};
  Evidence evidence{.dtype = DType::f32,
                    .shape = shape,
                    .got = got,
                    .golden = golden,
                    .bound = exact,
                    .bytes = bytes,
                    .poison = kPoison,
                    .ranks = 4};
  const std::vector<std::int64_t> wrong = find_wrong(evidence, 1000);
  evidence.wrong = wrong;
  const Explanation found = explain(evidence, {});
  EXPECT_EQ(found.what, Class::permuted_blocks);
  EXPECT_EQ(found.sentence, "the 4 blocks hold those that belong to 0, 2, 1, 1");
  EXPECT_EQ(wrong.size(), 18u);
  EXPECT_EQ(found.explained, 18);
}

TEST(FindWrong, SpreadsASampleOverRowsAndColumns) {
  constexpr std::int64_t kCount = 64 * 64;
  const Values golden(kCount), bound(kCount), got(kCount, 1);
  const Evidence evidence{.shape = {}, .got = got, .golden = golden, .bound = bound, .bytes = {}};
  const std::vector<std::int64_t> sample = find_wrong(evidence, kCount / 16);
  EXPECT_NEAR(static_cast<double>(sample.size()), kCount / 16, 4);
  std::set<std::int64_t> rows, columns;
  for (const std::int64_t each : sample) {
    rows.insert(each / 64);
    columns.insert(each % 64);
  }
  EXPECT_EQ(rows.size(), 64u);
  EXPECT_GE(columns.size(), 60u);
  EXPECT_EQ(find_wrong(evidence, kCount).size(), kCount);
}

TEST(Names, AreOfOneTable) {
  EXPECT_EQ(name_of(Class::unwritten), "unwritten");
  EXPECT_EQ(name_of(Class::unknown), "unknown");
  EXPECT_EQ(name_of(category_of(Class::contribution_missing)), "collective ordering / synchronisation");
  EXPECT_EQ(name_of(category_of(Class::shifted)), "data partitioning");
  EXPECT_EQ(name_of(category_of(Class::coarse_rounding)), "numerics");
}

}  // namespace
}  // namespace pkb::diagnosis
