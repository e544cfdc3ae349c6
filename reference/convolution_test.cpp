// SPDX-License-Identifier: Apache-2.0
#include "reference/convolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/direct_convolution.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;

Tensor counted(Shape shape) {
  const std::int64_t count = numel(shape);
  return arange(1, count + 1, 1, DType::f32, Place::host).view(std::move(shape));
}

TEST(Convolution, InTwoDimensionsDoesNotFlip) {
  const Tensor x = counted({1, 1, 3, 3}), weight = counted({1, 1, 2, 2});
  // 1*1 + 2*2 + 3*4 + 4*5 and so on.
  EXPECT_THAT(convolution(x, weight).values(), ElementsAre(37, 47, 67, 77));
  EXPECT_THAT(convolution(x, weight, Tensor::full({1}, 3, DType::f32), {.stride = {2, 2}, .padding = {1, 1}}).values(),
              ElementsAre(4 * 1 + 3, 3 * 2 + 4 * 3 + 3, 2 * 4 + 4 * 7 + 3, 1 * 5 + 2 * 6 + 3 * 8 + 4 * 9 + 3));
}

TEST(Convolution, SumsOverChannelsAndKeepsGroupsApart) {
  const Tensor x = counted({1, 2, 3});  // 1 2 3 | 4 5 6
  const Tensor both = Tensor::full({3, 2, 2}, 1, DType::f32);
  EXPECT_EQ(convolution(x, both).shape(), (Shape{1, 3, 2}));
  EXPECT_THAT(convolution(x, both).values(), ElementsAre(12, 16, 12, 16, 12, 16));
  const Tensor apart = Tensor::full({2, 1, 2}, 1, DType::f32);
  EXPECT_THAT(convolution(x, apart, {}, {.groups = 2}).values(), ElementsAre(3, 5, 9, 11));
  EXPECT_THROW(convolution(x, apart), ShapeError);
}

TEST(Convolution, BatchesAreOutermostThenChannels) {
  const Tensor weight = Tensor::from_values({1, 0, 0, 10}, {2, 1, 2}, DType::f32);
  EXPECT_THAT(convolution(counted({2, 1, 3}), weight).values(), ElementsAre(1, 2, 20, 30, 4, 5, 50, 60));
}

TEST(Convolution, InThreeDimensions) {
  EXPECT_THAT(convolution(counted({1, 1, 2, 2, 2}), Tensor::full({1, 1, 2, 2, 2}, 1, DType::f32)).values(),
              ElementsAre(36));
}

TEST(Convolution, AddsTheBiasBeforeTheOneRounding) {
  const Tensor x = Tensor::from_values({16, 1}, {1, 1, 2}, DType::bf16),
               weight = Tensor::from_values({16, 1}, {1, 1, 2}, DType::bf16);
  // 256 + 1 + 1 is 258 when rounded once; 257 alone would become 256.
  EXPECT_THAT(convolution(x, weight).values(), ElementsAre(256));
  EXPECT_THAT(convolution(x, weight, Tensor::full({1}, 1, DType::bf16)).values(), ElementsAre(258));
}

TEST(Convolution, OfEveryKindIsTheDirectSum) {
  for (const testing::DirectConvolution& each : testing::kDirectConvolutions) {
    const auto random = [](const Shape& shape, std::uint16_t number) {
      Tensor t = Tensor::empty(shape, DType::f64);
      random_fill(t, {}, {.seed = 4, .tensor = number});
      return t;
    };
    const Tensor x = random(each.x, 0), weight = random(each.weight, 1), bias = random({each.weight[0]}, 2);
    const std::vector<double> got = convolution(x, weight, bias, each.options).values(),
                              want = testing::direct_convolution(each, x, weight, bias);
    ASSERT_EQ(got.size(), want.size()) << show("{}", {each.x});
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-12) << show("{}", {each.x});
  }
}

TEST(Convolution, OfAnEmptyBatchAndOfZerosAround) {
  EXPECT_EQ(convolution(Tensor::zeros({0, 2, 5}, DType::f32), counted({3, 2, 2})).shape(), (Shape{0, 3, 4}));
  EXPECT_THAT(convolution(Tensor::zeros({1, 1, 0}, DType::f32), counted({1, 1, 2}), Tensor::full({1}, 5, DType::f32),
                          {.padding = {1}})
                  .values(),
              ElementsAre(5));
  EXPECT_THROW(convolution(counted({1, 1, 2}), counted({1, 1, 3})), ShapeError);
}

}  // namespace
}  // namespace pkb::ref
