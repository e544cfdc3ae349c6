// SPDX-License-Identifier: Apache-2.0
#include "reference/pointwise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/ops.h"

namespace pkb::ref {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Tensor row(std::initializer_list<double> values, DType dtype = DType::f64) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype);
}

TEST(PointwiseFunctions, HaveTheValuesOfTheirDefinitions) {
  const auto near = [](std::initializer_list<double> values) { return Pointwise(DoubleNear(1e-12), values); };
  const Tensor x = row({-1, 0, 2});
  EXPECT_THAT(exp(x).values(), near({0.36787944117144233, 1, 7.38905609893065}));
  EXPECT_THAT(sigmoid(x).values(), near({0.2689414213699951, 0.5, 0.8807970779778823}));
  EXPECT_THAT(silu(x).values(), near({-0.2689414213699951, 0, 1.7615941559557646}));
  EXPECT_THAT(relu(x).values(), near({0, 0, 2}));
  EXPECT_THAT(softplus(row({-1, 0, 21})).values(), near({0.31326168751822286, 0.6931471805599453, 21}));
  EXPECT_THAT(logsigmoid(row({-800, 0, 10})).values(), near({-800, -0.6931471805599453, -4.5398899216870535e-5}));
  EXPECT_THAT(log(row({1, 4})).values(), near({0, 1.3862943611198906}));
  EXPECT_THAT(sqrt(row({0, 9})).values(), near({0, 3}));
  EXPECT_THAT(rsqrt(row({4, 0.25})).values(), near({0.5, 2}));
  EXPECT_THAT(pow(row({4, 9}), 1.5).values(), near({8, 27}));
  EXPECT_THAT(square(x).values(), near({1, 0, 4}));
  EXPECT_THAT(round(row({0.5, 1.5, -2.5})).values(), ElementsAre(0, 2, -2));
  EXPECT_THAT(floor(row({-0.5, 1.5})).values(), ElementsAre(-1, 1));
  EXPECT_THAT(ceil(row({-0.5, 1.5})).values(), ElementsAre(0, 2));
  EXPECT_THAT((1 - x).values(), ElementsAre(2, 1, -1));
  EXPECT_THAT((x / 4).values(), ElementsAre(-0.25, 0, 0.5));
  EXPECT_THAT(clamp(x, -0.5, 1).values(), ElementsAre(-0.5, 0, 1));
  EXPECT_TRUE(std::isnan(clamp(row({NAN}), 0, 1).values()[0]));
}

TEST(PointwiseFunctions, FloorDivideAsPython) {
  const Tensor a = row({-7, 7, 6}, DType::i64);
  EXPECT_THAT(floor_divide(a, 3).values(), ElementsAre(-3, 2, 2));
  EXPECT_THAT(remainder(a, 3).values(), ElementsAre(2, 1, 0));
  EXPECT_THAT(floor_divide(a, -3).values(), ElementsAre(2, -3, -2));
  EXPECT_THAT(remainder(a, -3).values(), ElementsAre(-1, -2, 0));
  EXPECT_THROW(remainder(row({1}), 3), DTypeError);
}

TEST(Comparisons, GiveMasksThatBroadcastAndRefuseNan) {
  const Tensor a = row({1, 2, NAN}, DType::bf16);
  EXPECT_EQ(lt(a, 2).dtype(), DType::u8);
  EXPECT_THAT(lt(a, 2).values(), ElementsAre(1, 0, 0));
  EXPECT_THAT(le(a, 2).values(), ElementsAre(1, 1, 0));
  EXPECT_THAT(gt(a, 1).values(), ElementsAre(0, 1, 0));
  EXPECT_THAT(ge(a, 1).values(), ElementsAre(1, 1, 0));
  EXPECT_THAT(eq(a, a).values(), ElementsAre(1, 1, 0));
  EXPECT_THAT(ne(a, a).values(), ElementsAre(0, 0, 1));
  const Tensor i = row({0, 1}, DType::i64);
  EXPECT_THAT(eq(i.view({2, 1}), i).values(), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(logical_or(eq(i, 0), eq(i, 1)).values(), ElementsAre(1, 1));
  EXPECT_THAT(logical_and(eq(i, 0), eq(i, 1)).values(), ElementsAre(0, 0));
  EXPECT_THAT(logical_not(eq(i, 0)).values(), ElementsAre(0, 1));
  EXPECT_THROW(eq(a, i), DTypeError);
}

TEST(Where, ChoosesAndFills) {
  const Tensor mask = row({1, 0}, DType::u8), a = row({1, 2}, DType::f32);
  EXPECT_THAT(where(mask, a, -a).values(), ElementsAre(1, -2));
  EXPECT_THAT(where(mask.view({2, 1}), a, -a).values(), ElementsAre(1, 2, -1, -2));
  EXPECT_THAT(masked_fill(a, mask, -INFINITY).values(), ElementsAre(-INFINITY, 2));
  EXPECT_THROW(where(a, a, a), DTypeError);
}

}  // namespace
}  // namespace pkb::ref
