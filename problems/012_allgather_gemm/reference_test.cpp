// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "012_allgather_gemm";

TEST(AllGatherGemm, EachRankHasItsOwnRightOperand) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row a[] = {{1, 2}, {3, 4}}, b[] = {{1, 0, 0, 1}, {1, 2, 3, 5}}, c[] = {{1, 3, 2, 4}, {10, 17, 14, 24}};
    return {{{"A_local", Tensor::from_values(a[rank], {2, 1}, DType::bf16)},
             {"B", Tensor::from_values(b[rank], {2, 2}, DType::bf16)}},
            {{"C", Tensor::from_values(c[rank], {2, 2}, DType::bf16)}}};
  });
}

TEST(AllGatherGemm, BlocksStandInRankOrder) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row a[] = {{1, 2}, {3, 4}};
    return {{{"A_local", Tensor::from_values(a[rank], {1, 2}, DType::f32)},
             {"B", Tensor::from_values({1, 10, 100, 1000}, {4, 1}, DType::f32)}},
            {{"C", Tensor::from_values({4321}, {1, 1}, DType::f32)}}};
  });
}

TEST(AllGatherGemm, OneToFourRanksWithOneColumnEach) {
  const double digits[] = {1, 21, 321, 4321};
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int rank) -> Exchange {
      Row powers;
      for (int s = 0; s < ranks; ++s) powers.push_back(std::pow(10, s));
      return {{{"A_local", Tensor::full({1, 1}, rank + 1, DType::f32)},
               {"B", Tensor::from_values(powers, {ranks, 1}, DType::f32)}},
              {{"C", Tensor::full({1, 1}, digits[ranks - 1], DType::f32)}}};
    });
}

TEST(AllGatherGemm, InfinityTimesZeroIsNotSkipped) {
  with_ranks(2, {}, [](Context& ctx) {
    const Tensors in{{"A_local", Tensor::full({1, 1}, ctx.world().rank() == 1 ? INFINITY : 1, DType::f32)},
                     {"B", Tensor::from_values({1, 0}, {2, 1}, DType::f32)}};
    EXPECT_TRUE(std::isnan(ProblemLibrary(kProblem).reference(ctx, in)["C"].item()));
  });
}

TEST(AllGatherGemm, OneRoundingIsWithinTheBound) {
  with_ranks(2, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const Tensors in{{"A_local", Tensor::full({1, 1}, ctx.world().rank() == 0 ? 256 : 1, DType::bf16)},
                     {"B", Tensor::full({2, 1}, 1, DType::bf16)}};
    EXPECT_EQ(library.reference(ctx, in)["C"].item(), 256);  // 257 is a tie
    const Tensors wide{{"A_local", in["A_local"].to(DType::f64)}, {"B", in["B"].to(DType::f64)}};
    EXPECT_EQ(library.reference(ctx, wide)["C"].item(), 257);
    EXPECT_NEAR(library.error_bound(ctx, wide)["C"].item(), 257.0 / 256 + 2 * 257 * 0x1p-24, 1e-12);
  });
}

TEST(AllGatherGemm, RefusesAnInnerExtentThatIsNotWK) {
  with_ranks(2, {}, [](Context& ctx) {
    const Tensors in{{"A_local", Tensor::zeros({2, 3}, DType::f32)}, {"B", Tensor::zeros({5, 2}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
