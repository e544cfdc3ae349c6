// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "006_gather";

TEST(Gather, ToTheMiddle) {
  expect_outputs(kProblem, 3, {.parameters = {{"dst", 1}}}, [](int rank) -> Exchange {
    const Row own[] = {{1, 2}, {3, 4}, {5, 6}};
    return {{{"tensor", Tensor::from_values(own[rank], {1, 2}, DType::bf16)}},
            {{"out", rank == 1 ? Tensor::from_values({1, 2, 3, 4, 5, 6}, {3, 1, 2}, DType::bf16)
                               : Tensor::empty({0, 1, 2}, DType::bf16)}}};
  });
}

TEST(Gather, OneRankNoElementsAndSpecialValues) {
  expect_outputs(kProblem, 1, {.parameters = {{"dst", 0}}}, [](int) -> Exchange {
    return {{{"tensor", Tensor::from_values({1, 2}, {2, 1}, DType::f32)}},
            {{"out", Tensor::from_values({1, 2}, {1, 2, 1}, DType::f32)}}};
  });
  expect_outputs(kProblem, 4, {.parameters = {{"dst", 3}}}, [](int rank) -> Exchange {
    return {{{"tensor", Tensor::empty({0, 2}, DType::bf16)}},
            {{"out", Tensor::empty({rank == 3 ? 4 : 0, 0, 2}, DType::bf16)}}};
  });
  expect_outputs(kProblem, 2, {.parameters = {{"dst", 0}}}, [](int rank) -> Exchange {
    return {{{"tensor", Tensor::full({1, 1}, rank == 0 ? -0.0 : NAN, DType::f16)}},
            {{"out", rank == 0 ? Tensor::from_values({-0.0, NAN}, {2, 1, 1}, DType::f16)
                               : Tensor::empty({0, 1, 1}, DType::f16)}}};
  });
}

}  // namespace
}  // namespace pkb::ref::testing
