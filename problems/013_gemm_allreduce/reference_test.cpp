// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "013_gemm_allreduce";

TEST(GemmAllReduce, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row a[] = {{1, 2}, {3, -1}}, b[] = {{1, 0, 0, 1}, {2, 1, 4, 5}};
    return {{{"A_local", Tensor::from_values(a[rank], {1, 2}, DType::bf16)},
             {"B_local", Tensor::from_values(b[rank], {2, 2}, DType::bf16)}},
            {{"C", Tensor::from_values({3, 0}, {1, 2}, DType::bf16)}}};
  });
}

TEST(GemmAllReduce, EachProductIsRoundedBeforeTheSum) {
  with_ranks(2, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const bool first = ctx.world().rank() == 0;
    const Row a = first ? Row{16, 1} : Row{-16, 0}, b = first ? Row{16, 1} : Row{16, 0};
    const Tensors in{{"A_local", Tensor::from_values(a, {1, 2}, DType::bf16)},
                     {"B_local", Tensor::from_values(b, {2, 1}, DType::bf16)}};
    EXPECT_EQ(library.reference(ctx, in)["C"].values(), Row{0});  // 257 -> 256, 256 - 256
    const Tensors wide{{"A_local", in["A_local"].to(DType::f64)}, {"B_local", in["B_local"].to(DType::f64)}};
    EXPECT_EQ(library.reference(ctx, wide)["C"].values(), Row{1});
    // 2 * 2^-8 * (257 + 256) + 2^-24 * 2 * (257 + 256).
    EXPECT_NEAR(library.error_bound(ctx, wide)["C"].values()[0], 4.0078125 + 513 * 0x1p-23, 1e-12);
  });
}

TEST(GemmAllReduce, FewerElementsThanRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int) -> Exchange {
      return {{{"A_local", Tensor::full({1, 5}, 1, DType::bf16)},
               {"B_local", Tensor::full({5, 3}, 1, DType::bf16)}},
              {{"C", Tensor::full({1, 3}, 5 * ranks, DType::bf16)}}};
    });
}

TEST(GemmAllReduce, ARankMayHaveNoInnerExtent) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const std::int64_t k = rank == 1 ? 0 : 2;
    return {
        {{"A_local", Tensor::full({2, k}, 3, DType::f32)}, {"B_local", Tensor::full({k, 2}, 2, DType::f32)}},
        {{"C", Tensor::full({2, 2}, 12, DType::f32)}}};
  });
}

}  // namespace
}  // namespace pkb::ref::testing
