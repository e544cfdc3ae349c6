// SPDX-License-Identifier: Apache-2.0
#include "reference/normalize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pkb::ref {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

auto near(std::initializer_list<double> values) { return Pointwise(DoubleNear(1e-12), values); }
Tensor matrix(std::initializer_list<double> values, Shape shape) {
  return Tensor::from_values(values, std::move(shape), DType::f64);
}

TEST(Softmax, OfRowsAndColumns) {
  const double log3 = std::log(3.0);
  const Tensor a = matrix({0, log3, 1000, 1000}, {2, 2});
  EXPECT_THAT(softmax(a).values(), near({0.25, 0.75, 0.5, 0.5}));
  EXPECT_THAT(log_softmax(a).values(), near({-std::log(4.0), log3 - std::log(4.0), -std::log(2.0), -std::log(2.0)}));
  EXPECT_THAT(logsumexp(a).values(), near({std::log(4.0), 1000 + std::log(2.0)}));
  const Tensor columns = a.t().contiguous();
  EXPECT_THAT(softmax(columns, 0).values(), near({0.25, 0.5, 0.75, 0.5}));
  EXPECT_EQ(logsumexp(columns, 0).shape(), Shape{2});
  EXPECT_THAT(softmax(matrix({-INFINITY, 0}, {1, 2})).values(), ElementsAre(0, 1));
  EXPECT_THAT(logsumexp(matrix({-INFINITY, -INFINITY}, {1, 2})).values(), ElementsAre(-INFINITY));
}

TEST(Norms, HaveUnitScale) {
  const Tensor x = matrix({3, -4, 0, 0}, {2, 2}), weight = matrix({2, 1}, {2}), bias = matrix({1, 0}, {2});
  const double scale = 1 / std::sqrt(12.5);
  EXPECT_THAT(rms_norm(x, weight, 0.0000).values()[0], DoubleNear(6 * scale, 1e-12));
  EXPECT_THAT(rms_norm(x, {}, 1).values(), near({3 / std::sqrt(13.5), -4 / std::sqrt(13.5), 0, 0}));
  // Mean -0.5, variance 12.25.
  EXPECT_THAT(layer_norm(x, weight, bias, 0.0001).values(),
              Pointwise(DoubleNear(1e-4), std::vector<double>{3.0, -1.0, 1.0, 0.0}));
  EXPECT_THROW(rms_norm(x, matrix({1}, {1}), 0), ShapeError);
}

TEST(Norms, RoundOnce) {
  // 1 / sqrt(mean) = 1 / sqrt(65025 * 1.0) and 255 / 255: exact, although 65025 is no bf16 number.
  const Tensor x = Tensor::full({1, 4}, 255, DType::bf16);
  EXPECT_THAT(rms_norm(x, {}, 0).values(), ElementsAre(1, 1, 1, 1));
}

}  // namespace
}  // namespace pkb::ref
