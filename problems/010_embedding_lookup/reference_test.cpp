// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "010_embedding_lookup";

/// Rank r's table is [10 r + 10, 10 r + 11]; it asks for `asked[r]` and gets `got[r]`.
void expect_rows(int ranks, int request_order, const std::vector<Row>& asked, const std::vector<Row>& got) {
  expect_outputs(kProblem, ranks, {.parameters = {{"request_order", request_order}}}, [&](int rank) -> Exchange {
    const auto own = static_cast<std::size_t>(rank);
    const auto count = static_cast<std::int64_t>(asked[own].size());
    return {{{"indices", Tensor::from_values(asked[own], {count}, DType::i64)},
             {"local_shard", Tensor::from_values({10.0 * rank + 10, 10.0 * rank + 11}, {2, 1}, DType::bf16)}},
            {{"output_vectors", Tensor::from_values(got[own], {count, 1}, DType::bf16)}}};
  });
}

TEST(EmbeddingLookup, GroupsByOwnerAndKeepsTheOrderWithin) {
  expect_rows(2, 0, {{3, 0, 2, 0, 1}, {1, 1}}, {{10, 10, 11, 21, 20}, {11, 11}});
  expect_rows(2, 1, {{3, 0, 2, 0, 1}, {1, 1}}, {{21, 10, 20, 10, 11}, {11, 11}});
}

TEST(EmbeddingLookup, ARankMayAskForNothing) {
  expect_rows(2, 0, {{3, 0, 2, 0, 1}, {}}, {{10, 10, 11, 21, 20}, {}});
  expect_rows(3, 1, {{}, {}, {5}}, {{}, {}, {31}});
}

TEST(EmbeddingLookup, AnOwnerMayNeverBeAsked) {
  expect_rows(2, 0, {{2, 3, 2}, {3, 2}}, {{20, 21, 20}, {21, 20}});
}

TEST(EmbeddingLookup, BordersOfShardsFromOneToFourRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    Row all, values;
    for (int r = 0; r < ranks; ++r)
      for (int i = 0; i < 2; ++i) {
        all.push_back(2 * r + i);
        values.push_back(10 * r + 10 + i);
      }
    const auto copies = static_cast<std::size_t>(ranks);
    expect_rows(ranks, 0, std::vector<Row>(copies, all), std::vector<Row>(copies, values));
    std::ranges::reverse(all);
    std::ranges::reverse(values);
    expect_rows(ranks, 1, std::vector<Row>(copies, all), std::vector<Row>(copies, values));
  }
}

TEST(EmbeddingLookup, RefusesRowsThatDoNotExist) {
  for (const double index : {4.0, -1.0})
    with_ranks(2, {.parameters = {{"request_order", 0}}}, [&](Context& ctx) {
      const Tensors in{{"indices", Tensor::full({1}, index, DType::i64)},
                       {"local_shard", Tensor::zeros({2, 1}, DType::bf16)}};
      EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
    });
}

TEST(EmbeddingLookup, InputsAreValidAndOfThreeKinds) {
  with_ranks(3, {}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    for (std::uint32_t trial = 0; trial < 3; ++trial) {
      Tensors in{{"indices", Tensor::zeros({500}, DType::i64)}, {"local_shard", Tensor::zeros({7, 1}, DType::bf16)}};
      library.make_inputs(ctx, {.seed = 5, .trial = trial}, in);
      const std::vector<std::int64_t> all = in["indices"].integers();
      EXPECT_GE(*std::ranges::min_element(all), trial == 2 ? 14 : 0);
      EXPECT_LT(*std::ranges::max_element(all), 21);
      const auto low = std::ranges::count_if(all, [](std::int64_t i) { return i < 7; });
      EXPECT_GT(low, trial == 0 ? 100 : trial == 1 ? 330 : -1);  // of 500: a third, (1/3)^(1/4) = 0.76, none
      EXPECT_LT(low, trial == 0 ? 240 : trial == 1 ? 430 : 1);
    }
  });
}

}  // namespace
}  // namespace pkb::ref::testing
