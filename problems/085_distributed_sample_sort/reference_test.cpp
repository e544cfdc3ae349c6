// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "085_distributed_sample_sort";

Tensor keys_of(const Row& row) {
  return Tensor::from_values(row, {static_cast<std::int64_t>(row.size())}, DType::f32);
}

void expect_sorted(const std::vector<Row>& keys, const std::vector<Row>& sorted) {
  expect_outputs(kProblem, static_cast<int>(keys.size()), {}, [&](int rank) -> Exchange {
    const auto own = static_cast<std::size_t>(rank);
    return {{{"keys", keys_of(keys[own])}}, {{"sorted", keys_of(sorted[own])}}};
  });
}

/// The shares follow from all keys.
void expect_sorted(const std::vector<Row>& keys) {
  Row all;
  for (const Row& each : keys) all.insert(all.end(), each.begin(), each.end());
  std::ranges::sort(all);
  std::vector<Row> shares;
  for (std::size_t r = 0, begin = 0; r < keys.size(); ++r) {
    const std::size_t length = all.size() / keys.size() + (r < all.size() % keys.size() ? 1 : 0);
    shares.emplace_back(all.begin() + std::ptrdiff_t(begin), all.begin() + std::ptrdiff_t(begin + length));
    begin += length;
  }
  expect_sorted(keys, shares);
}

TEST(SampleSort, UnevenAndEmptyRanks) {
  expect_sorted({{3, 1, 2}, {}, {2, 2, 0, 5}}, {{0, 1, 2}, {2, 2}, {3, 5}});
  expect_sorted({{5}, {}, {}, {}}, {{5}, {}, {}, {}});
  expect_sorted({{}, {}, {5, 4}, {}}, {{4}, {5}, {}, {}});
  expect_sorted({{1}, {-1}, {0}}, {{-1}, {0}, {1}});
  expect_sorted({{}, {}, {}}, {{}, {}, {}});
}

TEST(SampleSort, EqualKeysAreShared) {
  expect_sorted({{7, 7, 7}, {7}}, {{7, 7}, {7, 7}});
  expect_sorted({Row(50, 1), Row(3, 1), {}, Row(20, 1)});
}

TEST(SampleSort, DescendingAndInfiniteKeys) {
  expect_sorted({{4, 3}, {2, 1}}, {{1, 2}, {3, 4}});
  expect_sorted({{INFINITY, 1}, {-INFINITY}}, {{-INFINITY, 1}, {INFINITY}});
}

TEST(SampleSort, OneRankSortsAlone) { expect_sorted({{3, -1, 2}}, {{-1, 2, 3}}); }

TEST(SampleSort, EveryKindOfInput) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (std::uint32_t trial = 0; trial < 4; ++trial) {
      std::vector<Row> all(static_cast<std::size_t>(ranks));
      with_ranks(ranks, {}, [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const std::int64_t count = ctx.world().rank() == 1 ? 0 : 50 + 31 * ctx.world().rank();
        Tensors in{{"keys", Tensor::zeros({count}, DType::f32)}};
        library.make_inputs(ctx, {.seed = 6, .trial = trial}, in);
        for (const double key : in["keys"].values()) EXPECT_FALSE(std::isnan(key) || (key == 0 && std::signbit(key)));
        for (int r = 0; r < ranks; ++r) {
          Tensor keys = r == ctx.world().rank() ? in["keys"].clone()
                                                : Tensor::zeros({r == 1 ? 0 : 50 + 31 * r}, DType::f32);
          ctx.world().broadcast(keys, r);
          all[static_cast<std::size_t>(r)] = keys.values();
        }
      });
      expect_sorted(all);
    }
}

}  // namespace
}  // namespace pkb::ref::testing
