// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "003_broadcast";

TEST(Broadcast, FromTheMiddle) {
  expect_outputs(kProblem, 3, {.parameters = {{"src", 1}}}, [](int rank) -> Exchange {
    const Row own[] = {{9, 9}, {4, 5}, {7, 7}};
    return {{{"tensor", Tensor::from_values(own[rank], {1, 2}, DType::bf16)}},
            {{"out", Tensor::from_values({4, 5}, {1, 2}, DType::bf16)}}};
  });
}

TEST(Broadcast, KeepsSpecialValues) {
  expect_outputs(kProblem, 2, {.parameters = {{"src", 0}}}, [](int rank) -> Exchange {
    const Row special{NAN, -0.0, INFINITY, 0x1p-133};
    return {{{"tensor", Tensor::from_values(rank == 0 ? special : Row(4, NAN), {2, 2}, DType::bf16)}},
            {{"out", Tensor::from_values(special, {2, 2}, DType::bf16)}}};
  });
}

TEST(Broadcast, FromEveryRootOneElementAndNone) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int src = 0; src < ranks; ++src)
      for (const std::int64_t columns : {0, 1})
        expect_outputs(kProblem, ranks, {.parameters = {{"src", src}}}, [&](int rank) -> Exchange {
          return {{{"tensor", Tensor::full({1, columns}, rank + 1, DType::f16)}},
                  {{"out", Tensor::full({1, columns}, src + 1, DType::f16)}}};
        });
}

}  // namespace
}  // namespace pkb::ref::testing
