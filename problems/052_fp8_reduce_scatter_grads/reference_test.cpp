// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "052_fp8_reduce_scatter_grads";

Tensor history_with(std::int64_t place, double value) {
  Tensor history = Tensor::full({16}, 1e-8, DType::bf16);
  if (place >= 0) history.narrow(0, place, 1).fill_(value);
  return history;
}

/// Two ranks with two elements per shard; h' is the history without its first entry, then `largest`.
void expect_shards(const Tensor& history, const Row (&grads)[2], const Row (&out)[2], double largest) {
  expect_outputs(kProblem, 2, {}, [&](int rank) -> Exchange {
    const Tensor updated = cat({history.narrow(0, 1, 15), Tensor::full({1}, largest, DType::bf16)});
    return {{{"flat_grads", Tensor::from_values(grads[rank], {4}, DType::bf16)}, {"amax_history", history.clone()}},
            {{"out_shard", Tensor::from_values(out[rank], {2}, DType::bf16)}, {"updated_hist", updated}}};
  });
}

TEST(Fp8ReduceScatter, ScaleOne) {
  expect_shards(history_with(-1, 0), {{448, -17, 19, 100}, {-448, 18, 0, 17}}, {{0, 1}, {10, 56}}, 448);
}

TEST(Fp8ReduceScatter, ThePastCountsButTheOldestEntryDoesNot) {
  // 896 makes the scale 2, under which these codes mean the same.
  expect_shards(history_with(1, 896), {{448, -17, 19, 100}, {-448, 18, 0, 17}}, {{0, 1}, {10, 56}}, 448);
  // Under scale 2, 0.0068 is 0.0034, nearest to 2^-8; under scale 1 it is nearest to 3 * 2^-9.
  const Row first{448, 0.0068, 0, 0}, second{448, 0.0068, 0, 0};
  expect_shards(history_with(1, 896), {first, second}, {{448, 0x1p-7}, {0, 0}}, 448);
  expect_shards(history_with(0, 896), {first, second}, {{448, 3 * 0x1p-9}, {0, 0}}, 448);
}

TEST(Fp8ReduceScatter, SubnormalCodesAndTies) {
  with_ranks(1, {}, [](Context& ctx) {
    const Row g{448, 0.001, 0x1p-10, -1.5 * 0x1p-9, 0.30078125}, d{448, 0x1p-9, 0, -0x1p-8, 0.3125};
    const Tensors in{{"flat_grads", Tensor::from_values(g, {5}, DType::f32)}, {"amax_history", history_with(-1, 0)}};
    EXPECT_EQ(ProblemLibrary(kProblem).reference(ctx, in)["out_shard"].values(), d);
  });
}

TEST(Fp8ReduceScatter, NothingButZeroes) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int) -> Exchange {
      return {{{"flat_grads", Tensor::zeros({3 * ranks}, DType::bf16)}, {"amax_history", Tensor::zeros({4}, DType::bf16)}},
              {{"out_shard", Tensor::zeros({3}, DType::bf16)}, {"updated_hist", Tensor::zeros({4}, DType::bf16)}}};
    });
}

TEST(Fp8ReduceScatter, TheRunDTypeStaysWithinTheBound) {
  with_ranks(3, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    for (std::uint32_t trial = 0; trial < 3; ++trial) {
      Tensors in{{"flat_grads", Tensor::zeros({300}, DType::bf16)}, {"amax_history", Tensor::zeros({16}, DType::bf16)}};
      library.make_inputs(ctx, {.seed = 9, .trial = trial}, in);
      const Tensors wide{{"flat_grads", in["flat_grads"].to(DType::f64)}, {"amax_history", in["amax_history"].to(DType::f64)}};
      const Tensors got = library.reference(ctx, in), golden = library.reference(ctx, wide);
      const Row a = got["out_shard"].values(), b = golden["out_shard"].values(),
                bound = library.error_bound(ctx, wide)["out_shard"].values();
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::fabs(a[i] - b[i]), bound[i]) << i;
      EXPECT_EQ(got["updated_hist"].values(), golden["updated_hist"].values());
    }
  });
}

TEST(Fp8ReduceScatter, RefusesAGradientThatDoesNotSplit) {
  with_ranks(2, {}, [](Context& ctx) {
    const Tensors in{{"flat_grads", Tensor::zeros({3}, DType::bf16)}, {"amax_history", Tensor::zeros({4}, DType::bf16)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
