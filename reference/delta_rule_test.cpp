// SPDX-License-Identifier: Apache-2.0
#include "reference/delta_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/ops.h"
#include "reference/random.h"

namespace pkb::ref {
namespace {

Tensor random(const Shape& shape, int number) {
  Tensor t = Tensor::empty(shape, DType::f64);
  random_fill(t, {.kind = Distribution::Kind::uniform, .low = -1, .high = 1},
              {.tensor = static_cast<std::uint16_t>(number)});
  return t;
}

TEST(GatedDeltaRule, DecaysThenCorrectsThenReads) {
  // S = 1/2 (2 - 0) = 1, read by 3; S = 1/2, then 1/2 + 1/2 (4 - 1/2) = 2.25, read by 2.
  const auto numbers = [](std::initializer_list<double> of) {
    return Tensor::from_values(of, {1, 2, 1, 1}, DType::f32);
  };
  const Tensor beta = Tensor::full({1, 2, 1}, 0.5, DType::f32);
  EXPECT_EQ(
      gated_delta_rule(numbers({3, 2}), numbers({1, 1}), numbers({2, 4}), numbers({0.5, 0.5}), beta).values(),
      (std::vector<double>{3, 4.5}));
}

/// The definition with matrices, one head of one batch after the other; a factor per row of the state, or one
/// for all.
TEST(GatedDeltaRule, IsARankOneUpdatePerPosition) {
  const std::int64_t batch = 2, length = 5, heads = 3, keys = 4, values = 6;
  const Tensor q = random({batch, length, heads, keys}, 0), k = random(q.shape(), 1),
               v = random({batch, length, heads, values}, 2);
  const Tensor beta = random({batch, length, heads}, 3);
  for (const std::int64_t decays : {std::int64_t{1}, keys}) {
    const Tensor decay = random({batch, length, heads, decays}, 4),
                 out = gated_delta_rule(q, k, v, decay, beta);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t h = 0; h < heads; ++h) {
        Tensor state = Tensor::zeros({keys, values}, DType::f64);
        for (std::int64_t t = 0; t < length; ++t) {
          const auto at = [&](const Tensor& of) { return of[b][t][h]; };
          state = state * at(decay).view({decays, 1});
          const Tensor change = (at(v) - matmul(at(k), state)) * at(beta);
          state = state + at(k).view({keys, 1}) * change.view({1, values});
          const std::vector<double> expected = matmul(at(q), state).values(), got = at(out).values();
          for (std::size_t j = 0; j < got.size(); ++j) EXPECT_NEAR(got[j], expected[j], 1e-13);
        }
      }
  }
}

TEST(GatedDeltaRule, RefusesShapesAndDTypesThatDoNotFit) {
  const Tensor q = Tensor::zeros({1, 2, 3, 4}, DType::f32), v = Tensor::zeros({1, 2, 3, 5}, DType::f32);
  const Tensor decay = Tensor::zeros({1, 2, 3, 1}, DType::f32), beta = Tensor::zeros({1, 2, 3}, DType::f32);
  EXPECT_EQ(gated_delta_rule(q, q, v, decay, beta).shape(), v.shape());
  EXPECT_THROW(gated_delta_rule(q, v, v, decay, beta), ShapeError);
  EXPECT_THROW(gated_delta_rule(q, q, v, v, beta), ShapeError);
  EXPECT_THROW(gated_delta_rule(q, q, v, decay, decay), ShapeError);
  EXPECT_THROW(gated_delta_rule(q, q, v.to(DType::f64), decay, beta), DTypeError);
}

}  // namespace
}  // namespace pkb::ref
