// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "001_allreduce";

TEST(AllReduce, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row own[] = {{1, -2, 3}, {10, 20, -3}};
    return {{{"tensor", Tensor::from_values(own[rank], {1, 3}, DType::bf16)}},
            {{"out", Tensor::from_values({11, 18, 0}, {1, 3}, DType::bf16)}}};
  });
}

TEST(AllReduce, FewerElementsThanRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int rank) -> Exchange {
      return {{{"tensor", Tensor::full({1, 1}, rank + 1, DType::bf16)}},
              {{"out", Tensor::full({1, 1}, ranks * (ranks + 1) / 2, DType::bf16)}}};
    });
}

TEST(AllReduce, NoElements) {
  expect_outputs(kProblem, 3, {}, [](int) -> Exchange {
    return {{{"tensor", Tensor::empty({0, 5}, DType::bf16)}}, {{"out", Tensor::empty({0, 5}, DType::bf16)}}};
  });
}

TEST(AllReduce, RoundingStaysWithinTheBound) {
  with_ranks(3, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const double own[] = {256, 1, -256};
    const Tensors in{{"tensor", Tensor::full({1, 1}, own[ctx.world().rank()], DType::bf16)}};
    const Tensors wide{{"tensor", in["tensor"].to(DType::f64)}};
    const double baseline = library.reference(ctx, in)["out"].values()[0];
    EXPECT_EQ(library.reference(ctx, wide)["out"].values()[0], 1);
    EXPECT_TRUE(baseline == 0 || baseline == 1);
    // W * u * sum |x| = 3 * 2^-8 * 513.
    EXPECT_NEAR(library.error_bound(ctx, wide)["out"].values()[0], 6.01171875, 1e-12);
  });
}

TEST(AllReduce, Fp16Overflows) {
  with_ranks(2, {.run_dtype = DType::f16}, [](Context& ctx) {
    const Tensors in{{"tensor", Tensor::full({1, 1}, 60000, DType::f16)}};
    EXPECT_EQ(ProblemLibrary(kProblem).reference(ctx, in)["out"].values()[0], INFINITY);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
