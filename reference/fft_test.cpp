// SPDX-License-Identifier: Apache-2.0
#include "reference/fft.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pkb::ref {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

auto near(const std::vector<double>& values, double error = 1e-12) { return Pointwise(DoubleNear(error), values); }

TEST(Fft, OfADeltaTurnsClockwise) {
  const Tensor delta = Tensor::from_values({0, 0, 1, 0, 0, 0, 0, 0}, {4, 2}, DType::f64);
  EXPECT_THAT(fft(delta).values(), near({1, 0, 0, -1, -1, 0, 0, 1}));
  EXPECT_THAT(ifft(delta).values(), near({0.25, 0, 0, 0.25, -0.25, 0, 0, -0.25}));
  EXPECT_THAT(fft(delta, FftNorm::ortho).values(), near({0.5, 0, 0, -0.5, -0.5, 0, 0, 0.5}));
  EXPECT_THAT(fft(delta, FftNorm::forward).values(), near({0.25, 0, 0, -0.25, -0.25, 0, 0, 0.25}));
}

TEST(Rfft, OfOddLengthsAndBack) {
  const Tensor a = Tensor::from_values({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32);
  const double half = std::sqrt(3.0) / 2;
  EXPECT_THAT(rfft(a).values(), near({6, 0, -1.5, half, 15, 0, -1.5, half}, 1e-6));
  EXPECT_THAT(irfft(rfft(a), 3).values(), near({1, 2, 3, 4, 5, 6}, 1e-6));
  EXPECT_THROW(irfft(rfft(a), 4), ShapeError);
  EXPECT_THROW(rfft(a.to(DType::bf16)), DTypeError);
}

TEST(ComplexMultiply, FollowsTheDefinition) {
  const Tensor a = Tensor::from_values({1, 2, 3, 4}, {2, 2}, DType::f64);
  const Tensor i = Tensor::from_values({0, 1}, {1, 2}, DType::f64);
  EXPECT_THAT(complex_multiply(a, i).values(), ElementsAre(-2, 1, -4, 3));
}

}  // namespace
}  // namespace pkb::ref
