// SPDX-License-Identifier: Apache-2.0
#include "reference/fused.h"

#include <gtest/gtest.h>

#include "reference/optimizer.h"

namespace pkb::ref {
namespace {

using Row = std::vector<double>;

Tensor numbers(const Row& values, DType dtype) { return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype); }

TEST(Fused, ChainsRoundOnce) {
  // In bf16 the next number after 1 is 1 + 2^-7. The products alone would round to 2^-8, and 1 + 2^-8 is a tie that goes to 1.
  const Tensor one = numbers({1}, DType::bf16), step = numbers({0x1p-8}, DType::bf16);
  EXPECT_EQ(add(one, step, 1 + 0x1p-9).values(), Row{1 + 0x1p-7});
  EXPECT_EQ(addcmul(one, step, one, 1 + 0x1p-9).values(), Row{1 + 0x1p-7});
  EXPECT_EQ(addcdiv(one, step, one, 1 + 0x1p-9).values(), Row{1 + 0x1p-7});
}

TEST(Fused, OperandsBroadcast) {
  const Tensor a = Tensor::from_values({1, 2, 3, 4}, {2, 2}, DType::f64), row = numbers({10, 20}, DType::f64);
  EXPECT_EQ(add(a, row, -0.5).values(), (Row{-4, -8, -2, -6}));
  EXPECT_EQ(addcmul(a, row, row, 0.1).values(), (Row{11, 42, 13, 44}));
  EXPECT_EQ(addcdiv(row, row, row, 5).values(), (Row{15, 25}));
}

TEST(Adam, DecayIsDecoupledAndOfTheOldParameter) {
  // At step 1 from zero moments the update is lr times the gradient's sign.
  const AdamState state{numbers({1, -2}, DType::f64), numbers({0, 0}, DType::f64), numbers({0, 0}, DType::f64)};
  const AdamState next = adam(state, numbers({4, 0.25}, DType::f64), {.lr = 0.125, .eps = 0, .weight_decay = 0.5});
  EXPECT_NEAR(next.parameter.values()[0], 1 - 0.125 - 0.125 * 0.5, 1e-15);
  EXPECT_NEAR(next.parameter.values()[1], -2 - 0.125 + 0.125, 1e-15);
  EXPECT_NEAR(next.exp_avg.values()[0], 0.4, 1e-15);
  EXPECT_NEAR(next.exp_avg_sq.values()[0], 0.016, 1e-15);
}

TEST(Adam, RefusesStepsBeforeTheFirst) {
  const Tensor zero = numbers({0}, DType::f32);
  EXPECT_THROW(adam({zero, zero, zero}, zero, {.step = 0}), ShapeError);
  EXPECT_THROW(adam({zero, zero, zero}, numbers({0, 0}, DType::f32), {}), ShapeError);
}

}  // namespace
}  // namespace pkb::ref
