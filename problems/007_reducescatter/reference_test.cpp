// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "007_reducescatter";

TEST(ReduceScatter, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2, 3, 4}, {10, 20, 30, 40}}, block[] = {{11, 22}, {33, 44}};
    return {{{"tensor", Tensor::from_values(own[rank], {2, 2}, DType::bf16)}},
            {{"out", Tensor::from_values(block[rank], {1, 2}, DType::bf16)}}};
  });
}

TEST(ReduceScatter, ThreeRanksOneElementEach) {
  expect_outputs(kProblem, 3, {}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
    return {{{"tensor", Tensor::from_values(own[rank], {3, 1}, DType::bf16)}},
            {{"out", Tensor::full({1, 1}, 12 + 3 * rank, DType::bf16)}}};
  });
}

TEST(ReduceScatter, OneRankAndNoRows) {
  expect_outputs(kProblem, 1, {}, [](int) -> Exchange {
    return {{{"tensor", Tensor::from_values({1, 2}, {2, 1}, DType::f32)}},
            {{"out", Tensor::from_values({1, 2}, {2, 1}, DType::f32)}}};
  });
  expect_outputs(kProblem, 4, {}, [](int) -> Exchange {
    return {{{"tensor", Tensor::empty({0, 3}, DType::f32)}}, {{"out", Tensor::empty({0, 3}, DType::f32)}}};
  });
}

TEST(ReduceScatter, RoundingStaysWithinTheBound) {
  with_ranks(3, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const double own[] = {256, 1, -256};
    const Tensors in{{"tensor", Tensor::full({3, 1}, own[ctx.world().rank()], DType::bf16)}};
    const double baseline = library.reference(ctx, in)["out"].values()[0];
    EXPECT_TRUE(baseline == 0 || baseline == 1);
    const Tensors wide{{"tensor", in["tensor"].to(DType::f64)}};
    EXPECT_EQ(library.reference(ctx, wide)["out"].values(), Row{1});
    EXPECT_NEAR(library.error_bound(ctx, wide)["out"].values()[0], 3 * 513.0 / 256, 1e-12);
  });
}

TEST(ReduceScatter, RefusesRowsThatDoNotSplit) {
  with_ranks(4, {}, [](Context& ctx) {
    const Tensors in{{"tensor", Tensor::zeros({6, 1}, DType::bf16)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
