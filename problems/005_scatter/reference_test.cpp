// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "005_scatter";

TEST(Scatter, BlocksGoByAbsoluteRankWhateverTheRoot) {
  for (const int src : {0, 2})
    expect_outputs(kProblem, 3, {.parameters = {{"src", src}}}, [&](int rank) -> Exchange {
      const Row own[] = {{1, 2}, {3, 4}, {5, 6}};
      return {{{"tensor", rank == src ? Tensor::from_values({1, 2, 3, 4, 5, 6}, {3, 1, 2}, DType::bf16)
                                      : Tensor::empty({0, 1, 2}, DType::bf16)}},
              {{"out", Tensor::from_values(own[rank], {1, 2}, DType::bf16)}}};
    });
}

TEST(Scatter, OneRankAndNoElements) {
  expect_outputs(kProblem, 1, {.parameters = {{"src", 0}}}, [](int) -> Exchange {
    return {{{"tensor", Tensor::from_values({1, 2}, {1, 2, 1}, DType::f32)}},
            {{"out", Tensor::from_values({1, 2}, {2, 1}, DType::f32)}}};
  });
  expect_outputs(kProblem, 2, {.parameters = {{"src", 1}}}, [](int rank) -> Exchange {
    return {{{"tensor", Tensor::empty({rank == 1 ? 2 : 0, 3, 0}, DType::bf16)}},
            {{"out", Tensor::empty({3, 0}, DType::bf16)}}};
  });
}

}  // namespace
}  // namespace pkb::ref::testing
