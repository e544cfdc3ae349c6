// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::Each;
using ::testing::DoubleNear;
constexpr auto kProblem = "018_tp_rms_norm";

ContextOptions with_epsilon(double epsilon) { return {.parameters = {{"variance_epsilon", epsilon}}}; }

TEST(TpRmsNorm, TheMeanIsOverAllRanksColumns) {
  expect_outputs(kProblem, 2, with_epsilon(0), [](int rank) -> Exchange {
    const Row x[] = {{4, 0}, {0, 0}}, out[] = {{2, 0}, {0, 0}};
    return {{{"local_hidden_states", Tensor::from_values(x[rank], {1, 2}, DType::bf16)},
             {"local_weight", Tensor::full({2}, 1, DType::bf16)}},
            {{"out", Tensor::from_values(out[rank], {1, 2}, DType::bf16)}}};
  });
}

TEST(TpRmsNorm, EqualEntriesGiveTheWeightFromOneToFourRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, with_epsilon(0), [](int rank) -> Exchange {
      const Tensor weight = Tensor::from_values({rank + 0.5, -1.0, 3.0}, {3}, DType::bf16);
      return {{{"local_hidden_states", Tensor::full({1, 3}, 2, DType::bf16)}, {"local_weight", weight}},
              {{"out", weight.view({1, 3})}}};
    });
}

TEST(TpRmsNorm, ZeroRowsStayZero) {
  expect_outputs(kProblem, 2, with_epsilon(1e-5), [](int) -> Exchange {
    const Tensor zero = Tensor::zeros({2, 3}, DType::f32);
    return {{{"local_hidden_states", zero}, {"local_weight", Tensor::full({3}, 1, DType::f32)}}, {{"out", zero.clone()}}};
  });
}

TEST(TpRmsNorm, EpsilonShowsInSmallRowsAndLargeHalvesDoNotOverflow) {
  with_ranks(2, with_epsilon(1e-5), [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const Tensor one = Tensor::full({4}, 1, DType::f32);
    const Tensors small{{"local_hidden_states", Tensor::full({1, 4}, 1e-3, DType::f32)}, {"local_weight", one}};
    EXPECT_THAT(library.reference(ctx, small)["out"].values(), Each(DoubleNear(0.301511, 1e-6)));
    const Tensors large{{"local_hidden_states", Tensor::full({1, 4}, 300, DType::f16)},
                        {"local_weight", one.to(DType::f16)}};
    EXPECT_THAT(library.reference(ctx, large)["out"].values(), Each(1));
  });
}

TEST(TpRmsNorm, RoundsBeforeTheWeightWithinTheBound) {
  with_ranks(1, {.run_dtype = DType::bf16, .parameters = {{"variance_epsilon", 1e-5}}}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    Tensors in{{"local_hidden_states", Tensor::zeros({64, 9}, DType::bf16)},
               {"local_weight", Tensor::full({9}, 1.3, DType::bf16)}};
    library.make_inputs(ctx, {.seed = 2, .trial = 1}, in);
    const Tensors wide{{"local_hidden_states", in["local_hidden_states"].to(DType::f64)},
                       {"local_weight", in["local_weight"].to(DType::f64)}};
    const Row got = library.reference(ctx, in)["out"].values(), golden = library.reference(ctx, wide)["out"].values(),
              bound = library.error_bound(ctx, wide)["out"].values();
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::fabs(got[i] - golden[i]) / bound[i]);
    EXPECT_LE(worst, 1);
    EXPECT_GE(worst, 0.3);  // the bound is not idle
  });
}

}  // namespace
}  // namespace pkb::ref::testing
