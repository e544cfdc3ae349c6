// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "026_moe_token_preprocess";

Tensor ints(const Row& values, Shape shape) {
  return Tensor::from_values(values, std::move(shape), DType::i64);
}

/// (E, K, M) from the experts of each token in turn.
Tensor mask_of(const Row& experts, std::int64_t all, std::int64_t each) {
  const auto slots = static_cast<std::int64_t>(experts.size());
  return one_hot(ints(experts, {slots / each, each}), all).permute({2, 1, 0}).to(DType::f32).contiguous();
}

struct Wanted {
  Row in, out, per_local, sum;
};

void expect_counts(const std::vector<Row>& experts, std::int64_t all, std::int64_t each,
                   const std::vector<Wanted>& wanted) {
  const auto ranks = static_cast<std::int64_t>(experts.size());
  expect_outputs(kProblem, static_cast<int>(ranks), {}, [&](int rank) -> Exchange {
    const Wanted& want = wanted[static_cast<std::size_t>(rank)];
    return {{{"expert_mask", mask_of(experts[static_cast<std::size_t>(rank)], all, each)}},
            {{"input_splits", ints(want.in, {ranks})},
             {"output_splits", ints(want.out, {ranks})},
             {"num_global_tokens_per_local_expert", ints(want.per_local, {ranks, all / ranks})},
             {"num_global_sum_tokens_per_local_expert", ints(want.sum, {all / ranks})}}};
  });
}

TEST(MoeTokenPreprocess, TwoRanksWithTwoExpertsEach) {
  expect_counts({{0, 3, 2, 0, 3, 1}, {1, 2, 1, 0, 2, 1}}, 4, 2,
                {{{3, 3}, {3, 4}, {2, 1, 1, 3}, {3, 4}}, {{4, 2}, {3, 2}, {1, 2, 2, 0}, {3, 2}}});
}

TEST(MoeTokenPreprocess, SlotsCountNotTokens) {
  expect_counts({{0, 0, 1, 0}, {1, 1, 1, 1}}, 2, 2,
                {{{3, 1}, {3, 0}, {3, 0}, {3}}, {{0, 4}, {1, 4}, {1, 4}, {5}}});
}

TEST(MoeTokenPreprocess, OneRankAndARankWithoutTokens) {
  expect_counts({{0, 2, 2}}, 3, 1, {{{3}, {3}, {1, 0, 2}, {1, 0, 2}}});
  expect_counts({{}, {2}, {0, 0}}, 3, 1,
                {{{0, 0, 0}, {0, 0, 2}, {0, 0, 2}, {2}},
                 {{0, 0, 1}, {0, 0, 0}, {0, 0, 0}, {0}},
                 {{2, 0, 0}, {0, 1, 0}, {0, 1, 0}, {1}}});
}

TEST(MoeTokenPreprocess, IdentitiesHoldForEveryKindOfInput) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, {}, [&](Context& ctx) {
      const ProblemLibrary library(kProblem);
      for (std::uint32_t trial = 0; trial < 4; ++trial) {
        Tensors in{{"expert_mask", Tensor::zeros({12, 3, 20}, DType::f32)}};
        library.make_inputs(ctx, {.seed = 8, .trial = trial}, in);
        const Tensors out = library.reference(ctx, in);
        EXPECT_EQ(sum(out["input_splits"]).integers()[0], 60);
        Tensor all = sum(out["num_global_sum_tokens_per_local_expert"]).view({1});
        EXPECT_EQ(sum(out["output_splits"]).integers()[0], all.integers()[0]);
        ctx.world().all_reduce(all);
        EXPECT_EQ(all.integers()[0], 60 * ranks);
        const double most = amax(sum(in["expert_mask"], {.dimensions = {1}})).item();
        EXPECT_EQ(most > 1, trial == 3) << "an expert named twice";
      }
    });
}

TEST(MoeTokenPreprocess, RefusesExpertsThatDoNotSplit) {
  with_ranks(2, {}, [](Context& ctx) {
    EXPECT_THROW(
        ProblemLibrary(kProblem).reference(ctx, {{"expert_mask", Tensor::zeros({3, 1, 2}, DType::f32)}}),
        ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
