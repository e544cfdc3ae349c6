// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "047_fsdp_step_e2e";

struct Step {
  double step = 1, weight_decay = 0, h = 1, lr = 1e-3;
};

ContextOptions with(const Step& step) {
  return {.parameters = {{"h", step.h}, {"step", step.step}, {"lr", step.lr}, {"beta1", 0.9}, {"beta2", 0.999},
                         {"eps", 1e-8}, {"weight_decay", step.weight_decay}}};
}

/// What one rank gives and must get. One input, one output.
struct Shard {
  Row x, y, parameters, exp_avg, exp_avg_sq;
  Row updated, updated_exp_avg, updated_exp_avg_sq;
};

void expect_step(const Step& step, const std::vector<Shard>& of_rank, double tolerance = 1e-8) {
  with_ranks(static_cast<int>(of_rank.size()), with(step), [&](Context& ctx) {
    const Shard& own = of_rank[static_cast<std::size_t>(ctx.world().rank())];
    const auto vector = [](const Row& row, Shape shape) { return Tensor::from_values(row, std::move(shape), DType::f32); };
    const auto rows = static_cast<std::int64_t>(own.x.size()), size = static_cast<std::int64_t>(own.parameters.size());
    const Tensors in{{"X_local", vector(own.x, {rows, 1})}, {"y_local", vector(own.y, {rows, 1})},
                     {"flat_param_shard", vector(own.parameters, {size})}, {"exp_avg_shard", vector(own.exp_avg, {size})},
                     {"exp_avg_sq_shard", vector(own.exp_avg_sq, {size})}};
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    EXPECT_THAT(out["updated_param_shard"].values(), Pointwise(DoubleNear(tolerance), own.updated));
    EXPECT_THAT(out["updated_exp_avg_shard"].values(), Pointwise(DoubleNear(1e-6), own.updated_exp_avg));
    EXPECT_THAT(out["updated_exp_avg_sq_shard"].values(), Pointwise(DoubleNear(1e-8), own.updated_exp_avg_sq));
    EXPECT_EQ(in["flat_param_shard"].values(), own.parameters);
  });
}

constexpr double kFp32 = 6e-8;  // a rounding of a parameter near 1

TEST(FsdpStep, TwoRanks) {
  // The mean gradient of (W1, b1 | W2, b2) is (7, 3 | 7, 3).
  const Row m{0.7, 0.3}, v{0.049, 0.009};
  expect_step({}, {{{1}, {0}, {1, 0}, {0, 0}, {0, 0}, {0.999, -0.001}, m, v}, {{3}, {1}, {1, 0}, {0, 0}, {0, 0}, {0.999, -0.001}, m, v}}, kFp32);
  expect_step({.weight_decay = 0.01},
              {{{1}, {0}, {1, 0}, {0, 0}, {0, 0}, {0.99899, -0.001}, m, v}, {{3}, {1}, {1, 0}, {0, 0}, {0, 0}, {0.99899, -0.001}, m, v}}, kFp32);
}

TEST(FsdpStep, SecondStep) {
  // m / (1 - 0.81) over the root of v / (1 - 0.999^2) is 0.744137.
  expect_step({.step = 2}, {{{1}, {0}, {1, 0}, {0, 0}, {0, 0}, {1 - 0.000744137, -0.000744137}, {0.7, 0.3}, {0.049, 0.009}},
                            {{3}, {1}, {1, 0}, {0, 0}, {0, 0}, {1 - 0.000744137, -0.000744137}, {0.7, 0.3}, {0.049, 0.009}}}, kFp32);
}

TEST(FsdpStep, DecayAlone) {
  // The output is the target: no gradient. Weight decay acts on what is left.
  expect_step({.weight_decay = 0.01}, {{{2}, {2}, {1, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {0.99999, 0, 0.99999, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}}, kFp32);
}

TEST(FsdpStep, DeadUnitsPassNothingBack) {
  // H = O = 0, so only b2 has a gradient: -(2 / B) times the sum of y, averaged over the ranks: -(8 + 2) / 2.
  expect_step({}, {{{1, 1}, {3, 5}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}},
                   {{1, 1}, {0, 2}, {0, 0}, {0, 0}, {0, 0}, {0, 0.001}, {0, -0.5}, {0, 0.025}}});
}

TEST(FsdpStep, ShardsThatAreShorterOrEmpty) {
  // 4 parameters on 3 ranks: 2, 2 and none. With (1, 0) on rank 2 too, the mean gradient of a weight is
  // (2 + 12 + 2) / 3 and that of a bias (2 + 4 + 2) / 3.
  const Row m{1.6 / 3, 0.8 / 3}, v{0.256 / 9, 0.064 / 9}, updated{0.999, -0.001};
  expect_step({}, {{{1}, {0}, {1, 0}, {0, 0}, {0, 0}, updated, m, v}, {{3}, {1}, {1, 0}, {0, 0}, {0, 0}, updated, m, v}, {{1}, {0}, {}, {}, {}, {}, {}, {}}}, kFp32);
}

TEST(FsdpStep, MomentsOfOneRank) {
  // No gradient: moments decay, and the parameter moves against the first one.
  const double mean = 0.9 * 0.5 / 0.1, root = std::sqrt(0.999 * 0.25 / 0.001);
  expect_step({}, {{{0}, {0}, {1, 0}, {0, 0}, {0, 0}, {1, 0}, {0, 0}, {0, 0}},
                   {{0}, {0}, {1, 0}, {0.5, 0}, {0.25, 0}, {1 - 0.001 * mean / root, 0}, {0.45, 0}, {0.24975, 0}}}, kFp32);
}

TEST(FsdpStep, EveryRunDTypeStaysWithinTheBound) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (int ranks = 1; ranks <= 4; ++ranks) {
      ContextOptions options = with({.step = 3, .weight_decay = 0.01, .h = 24});
      options.run_dtype = dtype;
      with_ranks(ranks, options, [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const std::int64_t each = (607 + ranks - 1) / ranks, own = std::min<std::int64_t>(each, 607 - ctx.world().rank() * each);
        Tensors in{{"X_local", Tensor::zeros({5, 17}, dtype)}, {"y_local", Tensor::zeros({5, 7}, dtype)},
                   {"flat_param_shard", Tensor::zeros({own}, DType::f32)}, {"exp_avg_shard", Tensor::zeros({own}, DType::f32)},
                   {"exp_avg_sq_shard", Tensor::zeros({own}, DType::f32)}};
        library.make_inputs(ctx, {.seed = 4, .trial = 1}, in);
        Tensors wide;
        for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
        const Tensors got = library.reference(ctx, in), golden = library.reference(ctx, wide), bound = library.error_bound(ctx, wide);
        for (const auto& [name, tensor] : golden) {
          const Row a = got[name].values(), b = tensor.values(), most = bound[name].values();
          for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::fabs(a[i] - b[i]), most[i]) << name << " " << i;
        }
      });
    }
}

}  // namespace
}  // namespace pkb::ref::testing
