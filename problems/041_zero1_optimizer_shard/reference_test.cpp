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
constexpr auto kProblem = "041_zero1_optimizer_shard";
constexpr double kFp32 = 6e-8;  // a rounding of a parameter near 1

ContextOptions at_step(double step) {
  return {.parameters = {{"step", step}, {"lr", 1e-3}, {"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}}};
}

/// What one rank gives and must get; parameters are W1, b1, W2, b2 of a perceptron with one of everything.
struct Slice {
  double x, y;
  Row parameters, exp_avg, exp_avg_sq;
  Row updated_exp_avg, updated_exp_avg_sq;
};

void expect_step(double step, const std::vector<Slice>& of_rank, const Row& updated) {
  with_ranks(static_cast<int>(of_rank.size()), at_step(step), [&](Context& ctx) {
    const Slice& own = of_rank[static_cast<std::size_t>(ctx.world().rank())];
    const auto vector = [](const Row& row) {
      return Tensor::from_values(row, {static_cast<std::int64_t>(row.size())}, DType::f32);
    };
    const auto number = [](double value, Shape shape) { return Tensor::full(std::move(shape), value, DType::f32); };
    const Tensors in{{"X_local", number(own.x, {1, 1})},          {"y_local", number(own.y, {1, 1})},
                     {"W1", number(own.parameters[0], {1, 1})},   {"b1", number(own.parameters[1], {1})},
                     {"W2", number(own.parameters[2], {1, 1})},   {"b2", number(own.parameters[3], {1})},
                     {"exp_avg_part", vector(own.exp_avg)},       {"exp_avg_sq_part", vector(own.exp_avg_sq)}};
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    Row all;
    for (const char* name : {"updated_W1", "updated_b1", "updated_W2", "updated_b2"}) all.push_back(out[name].item());
    EXPECT_THAT(all, Pointwise(DoubleNear(kFp32), updated));
    EXPECT_THAT(out["updated_exp_avg_part"].values(), Pointwise(DoubleNear(1e-7), own.updated_exp_avg));
    EXPECT_THAT(out["updated_exp_avg_sq_part"].values(), Pointwise(DoubleNear(1e-8), own.updated_exp_avg_sq));
    EXPECT_EQ(in["exp_avg_part"].values(), own.exp_avg);
    EXPECT_EQ(in["W1"].item(), own.parameters[0]);
  });
}

TEST(Zero1, TwoRanksAndParametersOfRankZero) {
  // The mean gradient is (7, 3, 7, 3). What other ranks have for parameters does not count.
  const Row m{0.7, 0.3}, v{0.049, 0.009};
  expect_step(1, {{1, 0, {1, 0, 1, 0}, {0, 0}, {0, 0}, m, v}, {3, 1, {-7, 100, 0, NAN}, {0, 0}, {0, 0}, m, v}},
              {0.999, -0.001, 0.999, -0.001});
  expect_step(2, {{1, 0, {1, 0, 1, 0}, {0, 0}, {0, 0}, m, v}, {3, 1, {0, 0, 0, 0}, {0, 0}, {0, 0}, m, v}},
              {1 - 0.000744137, -0.000744137, 1 - 0.000744137, -0.000744137});
}

TEST(Zero1, MomentsOfOneSliceMoveOnlyIt) {
  // Outputs are the targets: no gradient.
  const double mean = 0.9 * 0.5 / 0.1, root = std::sqrt(0.999 * 0.25 / 0.001);
  expect_step(1, {{2, 2, {1, 0, 1, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, {3, 3, {0, 0, 0, 0}, {0.5, -0.5}, {0.25, 0.25}, {0.45, -0.45}, {0.24975, 0.24975}}},
              {1, 0, 1 - 0.001 * mean / root, 0.001 * mean / root});
}

TEST(Zero1, OneRankIsPlainAdam) {
  expect_step(1, {{3, 1, {1, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1.2, 0.4, 1.2, 0.4}, {0.144, 0.016, 0.144, 0.016}}},
              {0.999, -0.001, 0.999, -0.001});
}

TEST(Zero1, SlicesThatAreEmpty) {
  // 4 parameters on 3 ranks: 2, 2 and none. With (1, 0) on rank 2 too, the mean gradient of a weight is 16 / 3 and that of a bias 8 / 3.
  const Row m{1.6 / 3, 0.8 / 3}, v{0.256 / 9, 0.064 / 9};
  expect_step(1, {{1, 0, {1, 0, 1, 0}, {0, 0}, {0, 0}, m, v}, {3, 1, {0, 0, 0, 0}, {0, 0}, {0, 0}, m, v}, {1, 0, {0, 0, 0, 0}, {}, {}, {}, {}}},
              {0.999, -0.001, 0.999, -0.001});
}

TEST(Zero1, EveryRunDTypeStaysWithinTheBound) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (int ranks = 1; ranks <= 4; ++ranks) {
      ContextOptions options = at_step(3);
      options.run_dtype = dtype;
      with_ranks(ranks, options, [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const std::int64_t each = (607 + ranks - 1) / ranks, own = std::min<std::int64_t>(each, 607 - ctx.world().rank() * each);
        Tensors in{{"X_local", Tensor::zeros({5, 17}, dtype)},      {"y_local", Tensor::zeros({5, 7}, dtype)},
                   {"W1", Tensor::zeros({24, 17}, DType::f32)},     {"b1", Tensor::zeros({24}, DType::f32)},
                   {"W2", Tensor::zeros({7, 24}, DType::f32)},      {"b2", Tensor::zeros({7}, DType::f32)},
                   {"exp_avg_part", Tensor::zeros({own}, DType::f32)}, {"exp_avg_sq_part", Tensor::zeros({own}, DType::f32)}};
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
