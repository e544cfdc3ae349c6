// SPDX-License-Identifier: Apache-2.0
#include "reference/sorting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/indexing.h"
#include "reference/random.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;

Tensor row(std::initializer_list<double> values, DType dtype = DType::f32) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype);
}

TEST(Sort, IsStableInBothDirectionsForEveryDtype) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64, DType::i8, DType::i32, DType::i64}) {
    const Tensor a = Tensor::from_values({3, -1, 3, 0, 2, 2, -5, 2}, {2, 4}, dtype);
    const Sorted up = sort(a), down = sort(a, {.descending = true});
    EXPECT_THAT(up.values.values(), ElementsAre(-1, 0, 3, 3, -5, 2, 2, 2)) << name_of(dtype);
    EXPECT_THAT(up.indices.integers(), ElementsAre(1, 3, 0, 2, 2, 0, 1, 3)) << name_of(dtype);
    EXPECT_THAT(down.values.values(), ElementsAre(3, 3, 0, -1, 2, 2, 2, -5)) << name_of(dtype);
    EXPECT_THAT(down.indices.integers(), ElementsAre(0, 2, 3, 1, 0, 1, 3, 2)) << name_of(dtype);
  }
}

TEST(Sort, OrdersSpecialValues) {
  EXPECT_THAT(argsort(row({NAN, INFINITY, 0.0, -0.0, -INFINITY})).integers(), ElementsAre(4, 2, 3, 1, 0));
  EXPECT_THAT(argsort(row({255, 0, 128}, DType::u8)).integers(), ElementsAre(1, 2, 0));
}

TEST(TopK, GivesTheLowerIndexOfEqualValuesFirst) {
  const Tensor a = Tensor::from_values({1, 4, 4, 2, 0, 0, 0, 0}, {2, 4}, DType::bf16);
  const Sorted top = topk(a, 3);
  EXPECT_THAT(top.values.values(), ElementsAre(4, 4, 2, 0, 0, 0));
  EXPECT_THAT(top.indices.integers(), ElementsAre(1, 2, 3, 0, 1, 2));
  EXPECT_EQ(topk(a, 0).indices.shape(), (Shape{2, 0}));
  EXPECT_THAT(topk(row({-INFINITY, -INFINITY}), 2).indices.integers(), ElementsAre(0, 1));
}

TEST(TopK, ManyAreFoundAsFewAre) {
  Tensor a = Tensor::empty({3, 100}, DType::f64);
  random_fill(a, {.kind = Distribution::Kind::integers, .low = 0, .high = 20}, {.seed = 1});
  const Sorted many = topk(a, 40), few = topk(a, 30);
  EXPECT_TRUE(equal(many.indices.narrow(1, 0, 30), few.indices));
  EXPECT_TRUE(equal(many.values.narrow(1, 0, 30), few.values));
}

TEST(Unique, CountsAndInverts) {
  const Unique all = unique(row({5, 2, 5, 9, 2, 5}, DType::i64));
  EXPECT_THAT(all.values.integers(), ElementsAre(2, 5, 9));
  EXPECT_THAT(all.counts.integers(), ElementsAre(2, 3, 1));
  EXPECT_THAT(all.inverse.integers(), ElementsAre(1, 0, 1, 2, 0, 1));
  EXPECT_EQ(unique(Tensor::empty({0}, DType::i64)).values.shape(), Shape{0});
}

TEST(Cumsum, SumsRowsWithoutRoundingInBetween) {
  EXPECT_THAT(cumsum(Tensor::from_values({1, 2, 3, 4}, {2, 2}, DType::i32)).integers(), ElementsAre(1, 3, 3, 7));
  // 257 is no bf16 number, but 258 is: the sum goes on from 257.
  EXPECT_THAT(cumsum(row({256, 1, 1}, DType::bf16)).values(), ElementsAre(256, 256, 258));
  EXPECT_EQ(cumsum(row({1}, DType::u8)).dtype(), DType::i64);
}

TEST(Searchsorted, FindsEitherSideOfEqualValues) {
  const Tensor sorted = row({1, 3, 3, 5}), values = row({0, 3, 6});
  EXPECT_THAT(searchsorted(sorted, values).integers(), ElementsAre(0, 1, 4));
  EXPECT_THAT(searchsorted(sorted, values, {.right = true}).integers(), ElementsAre(0, 3, 4));
}

}  // namespace
}  // namespace pkb::ref
