// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "002_allgather";

TEST(AllGather, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2}, {3, 4}};
    return {{{"tensor", Tensor::from_values(own[rank], {1, 2}, DType::bf16)}},
            {{"out", Tensor::from_values({1, 2, 3, 4}, {2, 1, 2}, DType::bf16)}}};
  });
}

TEST(AllGather, EveryPositionAndRank) {
  // x_r[i, j] = 1000 r + N i + j.
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int rank) -> Exchange {
      Row own, all;
      for (int i = 0; i < 15; ++i) own.push_back(1000 * rank + i);
      for (int source = 0; source < ranks; ++source)
        for (int i = 0; i < 15; ++i) all.push_back(1000 * source + i);
      return {{{"tensor", Tensor::from_values(own, {3, 5}, DType::f32)}},
              {{"out", Tensor::from_values(all, {ranks, 3, 5}, DType::f32)}}};
    });
}

TEST(AllGather, NoElements) {
  expect_outputs(kProblem, 3, {}, [](int) -> Exchange {
    return {{{"tensor", Tensor::empty({2, 0}, DType::bf16)}},
            {{"out", Tensor::empty({3, 2, 0}, DType::bf16)}}};
  });
}

}  // namespace
}  // namespace pkb::ref::testing
