// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "016_gemm_reducescatter";

TEST(GemmReduceScatter, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row a[] = {{1, 2}, {5, 6}}, b[] = {{3, 4}, {7, 8}}, c[] = {{38, 44}, {48, 56}};
    return {{{"A_local", Tensor::from_values(a[rank], {2, 1}, DType::bf16)},
             {"B_local", Tensor::from_values(b[rank], {1, 2}, DType::bf16)}},
            {{"C_local", Tensor::from_values(c[rank], {1, 2}, DType::bf16)}}};
  });
}

TEST(GemmReduceScatter, OneRankIsAProduct) {
  expect_outputs(kProblem, 1, {}, [](int) -> Exchange {
    return {{{"A_local", Tensor::from_values({1, 2}, {1, 2}, DType::f32)},
             {"B_local", Tensor::from_values({3, 4}, {2, 1}, DType::f32)}},
            {{"C_local", Tensor::from_values({11}, {1, 1}, DType::f32)}}};
  });
}

TEST(GemmReduceScatter, ARankOfZeroesAndOneWithoutInnerExtentAddNothing) {
  expect_outputs(kProblem, 3, {}, [](int rank) -> Exchange {
    const std::int64_t k = rank == 2 ? 0 : 1;
    return {{{"A_local", Tensor::full({3, k}, rank == 0 ? 2 : 0, DType::bf16)},
             {"B_local", Tensor::full({k, 1}, 3, DType::bf16)}},
            {{"C_local", Tensor::full({1, 1}, 6, DType::bf16)}}};
  });
}

TEST(GemmReduceScatter, HopRoundingAndOneRoundingPassTheBound) {
  with_ranks(4, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const double partial[] = {256, 1, 1, 1};
    const Tensors in{{"A_local", Tensor::full({4, 1}, partial[ctx.world().rank()], DType::bf16)},
                     {"B_local", Tensor::full({1, 1}, 1, DType::bf16)}};
    const Tensors wide{{"A_local", in["A_local"].to(DType::f64)}, {"B_local", in["B_local"].to(DType::f64)}};
    EXPECT_EQ(library.reference(ctx, wide)["C_local"].item(), 259);
    const double bound = library.error_bound(ctx, wide)["C_local"].item();
    EXPECT_NEAR(bound, 4 * 259.0 / 256 + 259 * 0x1p-24, 1e-12);
    EXPECT_GE(bound, 259 - 256);  // each hop rounded
    EXPECT_GE(bound, 260 - 259);  // rounded once
    EXPECT_LE(std::abs(library.reference(ctx, in)["C_local"].item() - 259), bound);
  });
}

TEST(GemmReduceScatter, RefusesRowsThatDoNotSplit) {
  with_ranks(4, {}, [](Context& ctx) {
    const Tensors in{{"A_local", Tensor::zeros({6, 1}, DType::f32)}, {"B_local", Tensor::zeros({1, 1}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
