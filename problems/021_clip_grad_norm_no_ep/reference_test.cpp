// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "021_clip_grad_norm_no_ep";

ContextOptions options(double max_norm, double p = 2) {
  return {.parameters = {{"max_norm", max_norm}, {"norm_type", p}}};
}

/// Gradient 0 and 3 are given, the others have no elements.
Tensors gradients(const Row& first, const Row& fourth, DType dtype) {
  Tensors all;
  for (int g = 0; g < 5; ++g) {
    const Row row = g == 0 ? first : g == 3 ? fourth : Row{};
    all.set("grad_" + std::to_string(g),
            Tensor::from_values(row, {static_cast<std::int64_t>(row.size())}, dtype));
  }
  return all;
}

/// Every rank r gives {first[r]} and gets the norm and {clipped[r]}, to 1e-6 relative.
void expect_clipped(const ContextOptions& ctx_options, const std::vector<Row>& first, double norm,
                    const std::vector<Row>& clipped, DType dtype = DType::f32) {
  with_ranks(static_cast<int>(first.size()), ctx_options, [&](Context& ctx) {
    const auto own = static_cast<std::size_t>(ctx.world().rank());
    const Tensors in = gradients(first[own], {}, dtype);
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    EXPECT_EQ(out["total_norm"].dtype(), DType::f32);
    EXPECT_NEAR(out["total_norm"].item(), norm, 1e-6 * norm);
    const Row got = out["grad_0"].values();
    ASSERT_EQ(got.size(), clipped[own].size());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], clipped[own][i], 1e-6 * std::fabs(clipped[own][i]));
    EXPECT_EQ(in["grad_0"].values(), first[own]);
    EXPECT_EQ(out["grad_4"].shape(), Shape{0});
  });
}

TEST(ClipGradNorm, ScalesAboveTheLimitOnly) {
  expect_clipped(options(1), {{3}, {4}}, 5, {{0.6}, {0.8}});
  expect_clipped(options(5), {{3}, {4}}, 5, {{3}, {4}});
  expect_clipped(options(4.999), {{3}, {4}}, 5, {{3 * 4.999 / 5}, {4 * 4.999 / 5}});
}

TEST(ClipGradNorm, TheFactorIsRoundedToTheRunDType) {
  expect_clipped(options(3), {{9}, {12}}, 15, {{1.8046875}, {2.40625}}, DType::bf16);
}

TEST(ClipGradNorm, OtherNorms) {
  expect_clipped(options(100, 1), {{-1, 2}, {3}}, 6, {{-1, 2}, {3}});
  expect_clipped(options(100, 3), {{1}, {2}}, 2.080084, {{1}, {2}});
}

TEST(ClipGradNorm, RanksWithoutGradientsAndOneToFourRanks) {
  expect_clipped(options(1), {{2}}, 2, {{1}});
  expect_clipped(options(1), {{}, {2}, {}}, 2, {{}, {1}, {}});
  expect_clipped(options(1), {{1}, {1}, {1}, {1}}, 2, {{0.5}, {0.5}, {0.5}, {0.5}});
}

TEST(ClipGradNorm, ZeroAndNanLeaveGradientsAlone) {
  with_ranks(2, options(1), [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const Tensors zero = library.reference(ctx, gradients({0, 0}, {0}, DType::bf16));
    EXPECT_EQ(zero["total_norm"].item(), 0);
    EXPECT_EQ(zero["grad_3"].values(), Row{0});
    const Row row = ctx.world().rank() == 1 ? Row{NAN} : Row{50};
    const Tensors nan = library.reference(ctx, gradients(row, {7}, DType::bf16));
    EXPECT_TRUE(std::isnan(nan["total_norm"].item()));
    EXPECT_EQ(nan["grad_3"].values(), Row{7});
  });
}

TEST(ClipGradNorm, AllGradientsShareTheNorm) {
  with_ranks(1, options(1), [](Context& ctx) {
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, gradients({3}, {4}, DType::f32));
    EXPECT_NEAR(out["total_norm"].item(), 5, 1e-5);
    EXPECT_NEAR(out["grad_0"].item(), 0.6, 1e-6);
    EXPECT_NEAR(out["grad_3"].item(), 0.8, 1e-6);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
