// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "063_deepmd_kalman_filter_optimizer";

Tensor vector(const Row& row) { return Tensor::from_values(row, {static_cast<std::int64_t>(row.size())}, DType::f64); }

/// What one rank gives and must get.
struct Filter {
  Row H, weights, P, updated_P;
};
struct Step {
  Row block_lengths;  ///< (W, ...)
  double lambda, nue, error;
  Row all_weights;
  double next_lambda;
};

void expect_step(const Step& step, const std::vector<Filter>& of_rank) {
  const auto ranks = static_cast<std::int64_t>(of_rank.size());
  with_ranks(static_cast<int>(ranks), {.parameters = {{"kalman_nue", step.nue}}}, [&](Context& ctx) {
    const Filter& own = of_rank[static_cast<std::size_t>(ctx.world().rank())];
    const auto blocks = static_cast<std::int64_t>(step.block_lengths.size()) / ranks;
    const Tensors in{{"block_lengths", Tensor::from_values(step.block_lengths, {ranks, blocks}, DType::i64)},
                     {"H", vector(own.H)},
                     {"error", vector({step.error})},
                     {"weights", vector(own.weights)},
                     {"P", vector(own.P)},
                     {"kalman_lambda", vector({step.lambda})}};
    Tensors before;
    for (const auto& [name, tensor] : in) before.set(name, tensor.clone());
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    EXPECT_THAT(out["all_weights"].values(), Pointwise(DoubleNear(1e-15), step.all_weights));
    EXPECT_THAT(out["P"].values(), Pointwise(DoubleNear(1e-15), own.updated_P));
    EXPECT_DOUBLE_EQ(out["next_lambda"].item(), step.next_lambda);
    for (const auto& [name, tensor] : in) EXPECT_TRUE(equal(tensor, before[name])) << name << " was changed";
  });
}

TEST(KalmanFilter, RanksShareTheNormaliser) {
  // t = (0.5 + 1) + (0.5 + 4) = 6.
  expect_step({.block_lengths = {2, 2}, .lambda = 0.5, .nue = 0.5, .error = 1, .all_weights = {1. / 6, 0, 1, 4. / 3}, .next_lambda = 0.75},
              {{{1, 0}, {0, 0}, {1, 0, 0, 1}, {5. / 3, 0, 0, 2}}, {{0, 2}, {1, 1}, {1, 0, 0, 1}, {2, 0, 0, 2. / 3}}});
}

TEST(KalmanFilter, OneWeight) {
  expect_step({.block_lengths = {1}, .lambda = 1, .nue = 1, .error = 1, .all_weights = {1}, .next_lambda = 1},
              {{{0.5}, {0}, {4}, {2}}});
}

TEST(KalmanFilter, OffDiagonalElements) {
  expect_step({.block_lengths = {2}, .lambda = 1, .nue = 1, .error = 3, .all_weights = {1, -1}, .next_lambda = 1},
              {{{1, -1}, {0, 0}, {2, 1, 1, 2}, {5. / 3, 4. / 3, 4. / 3, 5. / 3}}});
}

TEST(KalmanFilter, NothingToLearnFrom) {
  // H = 0: weights stay and P grows.
  expect_step({.block_lengths = {1, 1}, .lambda = 0.5, .nue = 0, .error = 7, .all_weights = {3, 4}, .next_lambda = 1},
              {{{0, 0}, {3, 4}, {1, 5}, {2, 10}}});
}

TEST(KalmanFilter, LambdaCountsOncePerBlockAndARankMayHaveNone) {
  // Blocks of 2 and 1 weights on rank 0, none on rank 1, one on rank 2: t = 3 * 0.5 + 1 + 0.25 + 1.25 = 4.
  expect_step({.block_lengths = {2, 1, 0, 0, 1, 0}, .lambda = 0.5, .nue = 1, .error = 4, .all_weights = {1, 0, 0.5, 2.5}, .next_lambda = 0.5},
              {{{1, 0, 0.5}, {0, 0, 0}, {1, 0, 0, 1, 1}, {1.5, 0, 0, 2, 2 - 0.125}},
               {},
               {{0.5}, {0}, {5}, {10 - 3.125}}});
}

TEST(KalmanFilter, OneToFourRanksWithAWeightEach) {
  // t = 1.5 W, so that with an error of 3 each weight becomes 2 / W.
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_step({.block_lengths = Row(std::size_t(ranks), 1), .lambda = 0.5, .nue = 1, .error = 3,
                 .all_weights = Row(std::size_t(ranks), 2. / ranks), .next_lambda = 0.5},
                std::vector<Filter>(std::size_t(ranks), {{1}, {0}, {1}, {2 - 2 / (1.5 * ranks)}}));
}

TEST(KalmanFilter, RefusesBlocksThatAreNotThere) {
  with_ranks(1, {.parameters = {{"kalman_nue", 1}}}, [](Context& ctx) {
    const Tensors in{{"block_lengths", Tensor::from_values({2}, {1, 1}, DType::i64)}, {"H", vector({1})}, {"error", vector({1})},
                     {"weights", vector({1})}, {"P", vector({1})}, {"kalman_lambda", vector({1})}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
