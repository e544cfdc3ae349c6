// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "058_openclip_contrastive_loss";

ContextOptions options(double scale, double bias) {
  return {.parameters = {{"logit_scale", scale}, {"logit_bias", bias}}};
}
double softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::fmax(x, 0); }

void expect_loss(int ranks, const ContextOptions& with, const std::function<Tensors(int rank)>& in, const Row& losses) {
  with_ranks(ranks, with, [&](Context& ctx) {
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in(ctx.world().rank()));
    EXPECT_EQ(out["loss"].dtype(), DType::f32);
    EXPECT_NEAR(out["loss"].item(), losses[static_cast<std::size_t>(ctx.world().rank())], 2e-6 * ranks);
  });
}

TEST(ContrastiveLoss, OnePair) {
  const auto e0 = [](int) -> Tensors {
    return {{"image_features", Tensor::from_values({1, 0}, {1, 2}, DType::bf16)},
            {"text_features", Tensor::from_values({1, 0}, {1, 2}, DType::bf16)}};
  };
  expect_loss(1, options(1, 0), e0, {0.31326169});
}

TEST(ContrastiveLoss, EveryBlockOnceFromTwoToFourRanks) {
  const auto in = [](int rank) -> Tensors {
    return {{"image_features", Tensor::full({1, 1}, 1, DType::bf16)}, {"text_features", Tensor::full({1, 1}, rank, DType::bf16)}};
  };
  expect_loss(2, options(1, 0), in, {2.00640887, 1.00640887});
  expect_loss(3, options(1, 0), in, {4.13333688, 3.13333688, 2.13333688});
  expect_loss(4, options(1, 0), in, {7.18192423, 6.18192423, 5.18192423, 4.18192423});
}

TEST(ContrastiveLoss, PartsBelongToTheRankOfTheTexts) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, options(1, 0), [&](Context& ctx) {
      const int rank = ctx.world().rank();
      const Tensors in{{"image_features", Tensor::full({1, 1}, 1, DType::f32)}, {"text_features", Tensor::full({1, 1}, rank, DType::f32)}};
      const Row parts = ProblemLibrary(kProblem).reference(ctx, in)["parts"].values();
      for (int j = 0; j < ranks; ++j) EXPECT_NEAR(parts[std::size_t(j)], softplus(j == rank ? -j : j), 1e-6) << j;
    });
}

TEST(ContrastiveLoss, WithoutFeaturesOrScale) {
  const auto zero = [](int) -> Tensors {
    return {{"image_features", Tensor::zeros({3, 4}, DType::bf16)}, {"text_features", Tensor::zeros({3, 4}, DType::bf16)}};
  };
  expect_loss(2, options(7, 0), zero, Row(2, 2 * 3 * std::log(2.0)));
  const auto ones = [](int) -> Tensors {
    return {{"image_features", Tensor::full({3, 4}, 1, DType::bf16)}, {"text_features", Tensor::full({3, 4}, 1, DType::bf16)}};
  };
  expect_loss(2, options(0, -10), ones, Row(2, 10.00004540 + 5 * 4.5398899e-5));
}

TEST(ContrastiveLoss, AllPartsOfTheInputsDifferAndCount) {
  with_ranks(4, options(10, -2), [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    Tensors in{{"image_features", Tensor::zeros({20, 53}, DType::bf16)}, {"text_features", Tensor::zeros({20, 53}, DType::bf16)}};
    library.make_inputs(ctx, {.seed = 1}, in);
    const Row parts = library.reference(ctx, in)["parts"].values();
    std::set<double> distinct(parts.begin(), parts.end());
    EXPECT_EQ(distinct.size(), 4u);
    EXPECT_GT(*distinct.begin(), 0.5);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
