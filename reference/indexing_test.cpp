// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;

Tensor row(std::initializer_list<double> values, DType dtype) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype);
}
Tensor index(std::initializer_list<double> values) { return row(values, DType::i64); }
Tensor matrix() { return Tensor::from_values({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f32); }

TEST(Arange, StopsBeforeTheEnd) {
  EXPECT_THAT(arange(2, 7, 2, DType::i64, Place::host).integers(), ElementsAre(2, 4, 6));
  EXPECT_THAT(arange(2, -1, -1, DType::f32, Place::host).values(), ElementsAre(2, 1, 0));
  EXPECT_EQ(arange(0, DType::i64, Place::host).shape(), Shape{0});
}

TEST(IndexSelect, TakesRowsAndColumnsOfAnyWidth) {
  EXPECT_THAT(index_select(matrix(), 0, index({1, 1, 0})).values(), ElementsAre(4, 5, 6, 4, 5, 6, 1, 2, 3));
  EXPECT_THAT(index_select(matrix(), 1, index({2, 0})).values(), ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(index_select(matrix().t(), 0, index({2})).values(), ElementsAre(3, 6));
  // 32 bytes a row: the 16-byte units.
  const Tensor wide = arange(16, DType::f64, Place::host).view({4, 4});
  EXPECT_THAT(index_select(wide, 0, index({3})).values(), ElementsAre(12, 13, 14, 15));
  EXPECT_THROW(index_select(matrix(), 0, index({2})), ShapeError);
  EXPECT_THROW(index_select(matrix(), 0, row({0}, DType::i32)), DTypeError);
}

TEST(Embedding, AddsTheWidth) {
  const Tensor out = embedding(index({1, 0}).view({2, 1}), matrix());
  EXPECT_EQ(out.shape(), (Shape{2, 1, 3}));
  EXPECT_THAT(out.values(), ElementsAre(4, 5, 6, 1, 2, 3));
}

TEST(Gather, AndScatterAreInverse) {
  const Tensor where = Tensor::from_values({2, 0, 1, 1}, {2, 2}, DType::i64);
  const Tensor tall = matrix().t().contiguous();  // 1 4 | 2 5 | 3 6
  EXPECT_THAT(gather(tall, 0, Tensor::from_values({2, 0, 1, 1, 0, 2}, {3, 2}, DType::i64)).values(),
              ElementsAre(3, 4, 2, 5, 1, 6));
  EXPECT_THAT(gather(matrix(), 1, where).values(), ElementsAre(3, 1, 5, 5));
  Tensor into = Tensor::zeros({2, 3}, DType::f32);
  scatter_(into, 1, Tensor::from_values({2, 0}, {2, 1}, DType::i64), Tensor::from_values({7, 8}, {2, 1}, DType::f32));
  EXPECT_THAT(into.values(), ElementsAre(0, 0, 7, 8, 0, 0));
  EXPECT_THROW(gather(matrix(), 1, Tensor::zeros({3, 1}, DType::i64)), ShapeError);
}

TEST(IndexAdd, RoundsEachAdditionInOrder) {
  Tensor into = row({0, 256}, DType::bf16).view({2, 1});
  // 256 + 1 + 1 + 2: 256 twice (ties to even), then 258.
  index_add_(into, index({1, 0, 1, 1}), row({1, 5, 1, 2}, DType::bf16).view({4, 1}));
  EXPECT_THAT(into.values(), ElementsAre(5, 258));
  EXPECT_THROW(index_add_(into, index({2}), row({1}, DType::bf16).view({1, 1})), ShapeError);
}

TEST(IndexCopy, ReplacesRows) {
  Tensor into = matrix();
  index_copy_(into, index({1}), row({7, 8, 9}, DType::f32).view({1, 3}));
  EXPECT_THAT(into.values(), ElementsAre(1, 2, 3, 7, 8, 9));
}

TEST(Counting, OneHotAndBincount) {
  EXPECT_THAT(one_hot(index({2, 0}), 3).integers(), ElementsAre(0, 0, 1, 1, 0, 0));
  EXPECT_THAT(bincount(index({3, 1, 3, 3}), 5).integers(), ElementsAre(0, 1, 0, 3, 0));
  EXPECT_THROW(bincount(index({5}), 5), ShapeError);
}

TEST(Masks, SelectInOrder) {
  const Tensor mask = Tensor::from_values({0, 1, 0, 1, 1, 0}, {2, 3}, DType::u8);
  EXPECT_THAT(flatnonzero(mask).integers(), ElementsAre(1, 3, 4));
  EXPECT_THAT(masked_select(matrix(), mask).values(), ElementsAre(2, 4, 5));
  EXPECT_EQ(flatnonzero(Tensor::zeros({4}, DType::u8)).shape(), Shape{0});
  EXPECT_EQ(flatnonzero(Tensor::zeros({0}, DType::u8)).shape(), Shape{0});
}

TEST(RepeatInterleave, SkipsZeroes) {
  EXPECT_THAT(repeat_interleave(index({2, 0, 3})).integers(), ElementsAre(0, 0, 2, 2, 2));
  EXPECT_THAT(repeat_interleave(index({2, 0, 3}), 5).integers(), ElementsAre(0, 0, 2, 2, 2));
  EXPECT_EQ(repeat_interleave(index({0, 0})).shape(), Shape{0});
}

TEST(Arrangements, FlipTrilPad) {
  EXPECT_THAT(flip(matrix(), 1).values(), ElementsAre(3, 2, 1, 6, 5, 4));
  EXPECT_THAT(tril_mask(2, 3, 0, Place::host).values(), ElementsAre(1, 0, 0, 1, 1, 0));
  EXPECT_THAT(tril_mask(2, 3, 1, Place::host).values(), ElementsAre(1, 1, 0, 1, 1, 1));
  EXPECT_THAT(pad(matrix(), 1, 1, 0).values(), ElementsAre(0, 1, 2, 3, 0, 4, 5, 6));
}

}  // namespace
}  // namespace pkb::ref
