// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "008_alltoall";

TEST(AllToAll, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2, 3, 4}, {5, 6, 7, 8}}, got[] = {{1, 2, 5, 6}, {3, 4, 7, 8}};
    return {{{"tensor", Tensor::from_values(own[rank], {2, 1, 2}, DType::bf16)}},
            {{"out", Tensor::from_values(got[rank], {2, 1, 2}, DType::bf16)}}};
  });
}

TEST(AllToAll, BlocksAreTransposedOverRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int rank) -> Exchange {
      Row own, got;
      for (int other = 0; other < ranks; ++other) {
        own.push_back(10 * rank + other);
        got.push_back(10 * other + rank);
      }
      return {{{"tensor", Tensor::from_values(own, {ranks, 1, 1}, DType::bf16)}},
              {{"out", Tensor::from_values(got, {ranks, 1, 1}, DType::bf16)}}};
    });
}

TEST(AllToAll, TwiceIsNothing) {
  with_ranks(3, {}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    Tensor tensor = Tensor::empty({3, 5, 7}, DType::bf16);
    random_fill(tensor, {.kind = Distribution::Kind::bits},
                {.seed = 8, .rank = static_cast<std::uint16_t>(ctx.world().rank())});
    const Tensors once = library.reference(ctx, {{"tensor", tensor}});
    EXPECT_FALSE(equal(once["out"], tensor));
    EXPECT_TRUE(equal(library.reference(ctx, {{"tensor", once["out"]}})["out"], tensor));
  });
}

TEST(AllToAll, NoElementsAndUnevenBlocks) {
  expect_outputs(kProblem, 2, {}, [](int) -> Exchange {
    return {{{"tensor", Tensor::empty({2, 0, 3}, DType::bf16)}},
            {{"out", Tensor::empty({2, 0, 3}, DType::bf16)}}};
  });
  with_ranks(2, {}, [](Context& ctx) {
    const Tensors in{{"tensor", Tensor::zeros({3, 1, 1}, DType::bf16)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
