// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "004_reduce";

TEST(Reduce, ToTheLastRank) {
  expect_outputs(kProblem, 3, {.parameters = {{"dst", 2}}}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2}, {10, 20}, {100, 200}};
    return {{{"tensor", Tensor::from_values(own[rank], {1, 2}, DType::f32)}},
            {{"out", rank == 2 ? Tensor::from_values({111, 222}, {1, 2}, DType::f32)
                               : Tensor::empty({0, 2}, DType::f32)}}};
  });
}

TEST(Reduce, OneElementToEveryRoot) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int dst = 0; dst < ranks; ++dst)
      expect_outputs(kProblem, ranks, {.parameters = {{"dst", dst}}}, [&](int rank) -> Exchange {
        return {{{"tensor", Tensor::full({1, 1}, rank + 1, DType::bf16)}},
                {{"out", rank == dst ? Tensor::full({1, 1}, ranks * (ranks + 1) / 2, DType::bf16)
                                     : Tensor::empty({0, 1}, DType::bf16)}}};
      });
}

TEST(Reduce, RoundsATieToEven) {
  with_ranks(2, {.run_dtype = DType::bf16, .parameters = {{"dst", 0}}}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const bool root = ctx.world().rank() == 0;
    const Tensors in{{"tensor", Tensor::full({1, 1}, root ? 256 : 1, DType::bf16)}};
    EXPECT_EQ(library.reference(ctx, in)["out"].values(), root ? Row{256} : Row{});
    const Tensors wide{{"tensor", in["tensor"].to(DType::f64)}};
    // 2 * 2^-8 * 257, on the root alone.
    const Row bound = library.error_bound(ctx, wide)["out"].values();
    ASSERT_EQ(bound.size(), root ? 1u : 0u);
    if (root) {
      EXPECT_NEAR(bound[0], 2.0078125, 1e-12);
    }
  });
}

TEST(Reduce, NoElements) {
  expect_outputs(kProblem, 2, {.parameters = {{"dst", 1}}}, [](int rank) -> Exchange {
    return {{{"tensor", Tensor::empty({3, 0}, DType::bf16)}},
            {{"out", Tensor::empty({rank == 1 ? 3 : 0, 0}, DType::bf16)}}};
  });
}

}  // namespace
}  // namespace pkb::ref::testing
