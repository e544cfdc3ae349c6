// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reference/convolution.h"
#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "087_conv2d_boundary_exchange";

ContextOptions with(int padding, int stride) {
  return {.parameters = {{"padding", padding}, {"stride", stride}}};
}

Tensor image(const Row& values, std::int64_t columns) {
  return Tensor::from_values(values, {1, 1, static_cast<std::int64_t>(values.size()) / columns, columns},
                             DType::bf16);
}

/// `rows`: what the bands are made of, three columns each; a 3x3 kernel.
void expect_bands(const std::vector<Row>& rows, const Row& kernel, double bias, const std::vector<Row>& out,
                  int stride = 1) {
  expect_outputs(kProblem, static_cast<int>(rows.size()), with(1, stride), [&](int rank) -> Exchange {
    const auto own = static_cast<std::size_t>(rank);
    return {{{"x", image(rows[own], 3)},
             {"weight", image(kernel, 3)},
             {"bias", Tensor::full({1}, bias, DType::bf16)}},
            {{"out", image(out[own], stride == 1 ? 3 : 2)}}};
  });
}

const Row kOnes(9, 1), kAbove{0, 1, 0, 0, 0, 0, 0, 0, 0}, kBelow{0, 0, 0, 0, 0, 0, 0, 1, 0};
const std::vector<Row> kNumbered{{1, 1, 1, 2, 2, 2}, {3, 3, 3, 4, 4, 4}};

TEST(ConvolutionOfBands, SeamsSeeTheNeighbour) {
  expect_bands({Row(6, 1), Row(6, 1)}, kOnes, 0, {{4, 6, 4, 6, 9, 6}, {6, 9, 6, 4, 6, 4}});
  expect_bands(kNumbered, kOnes, 0, {{6, 9, 6, 12, 18, 12}, {18, 27, 18, 14, 21, 14}});
}

TEST(ConvolutionOfBands, TheKernelIsNotFlipped) {
  expect_bands(kNumbered, kAbove, 0, {{0, 0, 0, 1, 1, 1}, {2, 2, 2, 3, 3, 3}});
  expect_bands(kNumbered, kBelow, 0, {{2, 2, 2, 3, 3, 3}, {4, 4, 4, 0, 0, 0}});
  expect_bands(kNumbered, kBelow, 10, {{12, 12, 12, 13, 13, 13}, {14, 14, 14, 10, 10, 10}});
}

TEST(ConvolutionOfBands, ABandMayBeARow) {
  expect_bands({Row(3, 1), Row(3, 2), Row(3, 3), Row(3, 4)}, kOnes, 0,
               {{6, 9, 6}, {12, 18, 12}, {18, 27, 18}, {14, 21, 14}});
}

TEST(ConvolutionOfBands, StepsMeetAcrossBands) {
  expect_bands(kNumbered, kOnes, 0, {{6, 6}, {18, 18}}, 2);
  // The last band may end within a step.
  expect_bands({{1, 1, 1, 2, 2, 2}, {3, 3, 3}}, kOnes, 0, {{6, 6}, {10, 10}}, 2);
}

TEST(ConvolutionOfBands, OneRankPadsWithZeros) {
  expect_bands({{1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4}}, kOnes, 0,
               {{6, 9, 6, 12, 18, 12, 18, 27, 18, 14, 21, 14}});
}

/// The whole image on one rank is the oracle: bands of different heights, asymmetric kernels, p from 0 to 2.
TEST(ConvolutionOfBands, EqualsTheConvolutionOfTheWholeImage) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int padding = 0; padding <= 2; ++padding)
      with_ranks(ranks, with(padding, 1), [&](Context& ctx) {
        const std::vector<std::int64_t> heights{2, 7, 3, 4};
        const auto integers = [](const Shape& shape, int number) {
          Tensor t = Tensor::empty(shape, DType::f64);
          random_fill(t, {.kind = Distribution::Kind::integers, .low = -5, .high = 5},
                      {.tensor = static_cast<std::uint16_t>(number)});
          return t;
        };
        std::int64_t before = 0, height = 0;
        for (int r = 0; r < ranks; ++r) {
          if (r == ctx.world().rank()) before = height;
          height += heights[static_cast<std::size_t>(r)];
        }
        const std::int64_t own = heights[static_cast<std::size_t>(ctx.world().rank())];
        const Tensor whole = integers({2, 3, height, 6}, 0), weight = integers({4, 3, 2 * padding + 1, 2}, 1);
        const Tensors in{{"x", whole.narrow(2, before, own).contiguous()},
                         {"weight", weight},
                         {"bias", Tensor::zeros({0}, DType::f64)}};
        const Tensor expected =
            convolution(whole, weight, {}, {.padding = {padding, padding}}).narrow(2, before, own);
        EXPECT_TRUE(equal(ProblemLibrary(kProblem).reference(ctx, in)["out"], expected))
            << ranks << " ranks, padding " << padding;
      });
}

TEST(ConvolutionOfBands, RefusesBandsThatAreTooLow) {
  with_ranks(1, with(2, 1), [](Context& ctx) {
    const Tensors in{{"x", Tensor::zeros({1, 1, 1, 9}, DType::f32)},
                     {"weight", Tensor::zeros({1, 1, 5, 5}, DType::f32)},
                     {"bias", Tensor::zeros({0}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
