// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "009_layernorm_backward";

Tensors rows_of(const Row& x_hat, const Row& dy, std::int64_t width, DType dtype) {
  const Shape shape{static_cast<std::int64_t>(dy.size()) / width, width};
  return {{"X_hat", Tensor::from_values(x_hat, shape, dtype)}, {"dY", Tensor::from_values(dy, shape, dtype)}};
}

TEST(LayerNormBackward, TwoRanks) {
  expect_outputs(kProblem, 2, {}, [](int rank) -> Exchange {
    const Row x_hat[] = {{1, 2, 3, 4}, {0, 1, 1, 0}}, dy[] = {{1, 0, 2, 1}, {5, 5, -1, 2}};
    return {rows_of(x_hat[rank], dy[rank], 2, DType::bf16),
            {{"d_gamma", Tensor::from_values({6, 9}, {2}, DType::bf16)},
             {"d_beta", Tensor::from_values({7, 8}, {2}, DType::bf16)}}};
  });
}

TEST(LayerNormBackward, OneToFourRanksOneOfThemWithoutRows) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    expect_outputs(kProblem, ranks, {}, [&](int rank) -> Exchange {
      const std::int64_t rows = rank == 1 ? 0 : rank + 1;
      const double all[] = {1, 1, 4, 8};
      return {{{"X_hat", Tensor::full({rows, 3}, 2, DType::f32)}, {"dY", Tensor::full({rows, 3}, 1, DType::f32)}},
              {{"d_gamma", Tensor::full({3}, 2 * all[ranks - 1], DType::f32)},
               {"d_beta", Tensor::full({3}, all[ranks - 1], DType::f32)}}};
    });
}

TEST(LayerNormBackward, ColumnsAddUpInFp32) {
  expect_outputs(kProblem, 1, {}, [](int) -> Exchange {
    const Tensor ones = Tensor::full({4096, 1}, 1, DType::bf16), sum = Tensor::full({1}, 4096, DType::bf16);
    return {{{"X_hat", ones}, {"dY", ones.clone()}}, {{"d_gamma", sum}, {"d_beta", sum.clone()}}};
  });
}

/// Runs on `ranks` ranks and returns baseline, golden and bound of one output with one element.
struct Judged {
  double baseline, golden, bound;
};
Judged judged(Context& ctx, const Tensors& in, const char* output) {
  const ProblemLibrary library(kProblem);
  const Tensors wide{{"X_hat", in["X_hat"].to(DType::f64)}, {"dY", in["dY"].to(DType::f64)}};
  return {library.reference(ctx, in)[output].item(), library.reference(ctx, wide)[output].item(),
          library.error_bound(ctx, wide)[output].item()};
}

TEST(LayerNormBackward, RoundedProductsAndExactOnesAreBothAccepted) {
  with_ranks(1, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const Judged d_gamma =
        judged(ctx, rows_of({1 + 0x1p-7, 1}, {1 + 0x1p-7, -(1 + 0x1p-6)}, 1, DType::bf16), "d_gamma");
    EXPECT_EQ(d_gamma.baseline, 0);
    EXPECT_EQ(d_gamma.golden, 0x1p-14);
    EXPECT_GE(d_gamma.bound, 0x1p-14);
  });
}

TEST(LayerNormBackward, RoundedPartsAndExactOnesAreBothAccepted) {
  with_ranks(2, {.run_dtype = DType::bf16}, [](Context& ctx) {
    const Row dy = ctx.world().rank() == 0 ? Row{256, 1} : Row{-256};
    const Judged d_beta = judged(ctx, rows_of(Row(dy.size(), 1), dy, 1, DType::bf16), "d_beta");
    EXPECT_EQ(d_beta.baseline, 0);
    EXPECT_EQ(d_beta.golden, 1);
    EXPECT_NEAR(d_beta.bound, 2 * 513.0 / 256 + 2 * 513 * 0x1p-24, 1e-9);
  });
}

TEST(LayerNormBackward, RefusesOperandsOfDifferentShapes) {
  with_ranks(1, {}, [](Context& ctx) {
    const Tensors in{{"X_hat", Tensor::zeros({2, 3}, DType::f32)}, {"dY", Tensor::zeros({3, 2}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
