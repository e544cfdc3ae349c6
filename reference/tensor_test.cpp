// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "reference/zeroed_memory.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// 0, 1, 2, ... in `shape`.
Tensor iota(const Shape& shape, DType dtype = DType::f32) {
  std::vector<double> values(static_cast<std::size_t>(numel(shape)));
  std::iota(values.begin(), values.end(), 0);
  return Tensor::from_values(values, shape, dtype);
}

TEST(Tensor, FreshMemoryIsZeroWhereThatIsAskedFor) {
  { Tensor::full({3}, 7, DType::f32); }
  const ZeroedMemory zeroed;
  EXPECT_THAT(Tensor::empty({3}, DType::f32).values(), ElementsAre(0, 0, 0));
}

TEST(Tensor, ViewsShareStorage) {
  Tensor t = iota({2, 3});
  Tensor row = t[1], column = t.select(1, -1);
  row.fill_(7);
  EXPECT_THAT(t.values(), ElementsAre(0, 1, 2, 7, 7, 7));
  EXPECT_THAT(column.values(), ElementsAre(2, 7));
  t.narrow(1, 0, 2).copy_(Tensor::from_values({8, 9}, {2}, DType::f32));  // broadcasts over rows
  EXPECT_THAT(t.values(), ElementsAre(8, 9, 2, 8, 9, 7));
  EXPECT_EQ(t.transpose(0, 1).data(), t.data());
}

/// Whether the dense `copy` holds, at every place, the item of `view` there; strides are followed here.
template <class T>
bool follows(const Tensor& view, const Tensor& copy) {
  std::vector<std::int64_t> at(view.shape().size());
  for (std::int64_t i = 0; i < copy.numel(); ++i) {
    std::int64_t rest = i, offset = 0;
    for (int d = view.dim() - 1; d >= 0; rest /= view.size(d), --d) offset += rest % view.size(d) * view.strides()[std::size_t(d)];
    if (view.as<const T>()[offset] != copy.as<const T>()[i]) return false;
  }
  return true;
}

TEST(Tensor, CopiesFollowEveryLayout) {
  const auto expect = [](auto item, DType dtype) {
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{4, 6, 8}, Shape{2, 34, 2}, Shape{1, 4, 16}}) {
      std::vector<int> order = {0, 1, 2};
      do
        for (const std::int64_t skipped : {0, 1, 2}) {
          const Tensor all = iota({shape[0], shape[1], shape[2] + 2}, dtype);
          const Tensor view = all.narrow(2, skipped, shape[2]).permute(order);
          EXPECT_TRUE(follows<decltype(item)>(view, view.clone())) << show("{} of {}", {view.shape(), all.shape()});
        }
      while (std::next_permutation(order.begin(), order.end()));
    }
  };
  expect(std::uint8_t{}, DType::u8);
  expect(float{}, DType::f32);
  expect(double{}, DType::f64);
}

TEST(Tensor, TransposeAndPermuteReorder) {
  EXPECT_THAT(iota({2, 3}).t().values(), ElementsAre(0, 3, 1, 4, 2, 5));
  const Tensor t = iota({2, 3, 2}).permute({2, 0, 1});
  EXPECT_EQ(t.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(t.values(), ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
  EXPECT_FALSE(t.is_contiguous());
  EXPECT_TRUE(t.contiguous().is_contiguous());
  EXPECT_THROW(t.permute({0, 0, 1}), ShapeError);
  EXPECT_THROW(t.permute({0, 1}), ShapeError);
}

TEST(Tensor, ViewAndReshape) {
  const Tensor t = iota({2, 6});
  EXPECT_EQ(t.view({3, -1}).shape(), (Shape{3, 4}));
  EXPECT_EQ(t.view({2, 2, 3}).data(), t.data());
  // Rows of a slice are apart: splitting a row is a view, merging rows is none.
  const Tensor slice = t.narrow(1, 0, 4);
  EXPECT_THAT(slice.view({2, 2, 2}).values(), ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
  EXPECT_THAT(
      [&] { slice.view({8}); },
      ThrowsMessage<ShapeError>("view: shape (2, 4) with strides (6, 1) cannot be seen as (8); use reshape"));
  EXPECT_THAT(slice.reshape({8}).values(), ElementsAre(0, 1, 2, 3, 6, 7, 8, 9));
  EXPECT_THAT(t.t().reshape({3, 4}).values(), ElementsAre(0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11));
  EXPECT_THROW(t.view({5, -1}), ShapeError);
  EXPECT_THROW(t.view({13}), ShapeError);
  EXPECT_EQ(Tensor::zeros({0, 3}, DType::f32).reshape({3, 0}).shape(), (Shape{3, 0}));
}

TEST(Tensor, NarrowChunkAndUnsqueeze) {
  const Tensor t = iota({5});
  const std::vector<Tensor> pieces = t.chunk(3);
  ASSERT_EQ(pieces.size(), 3u);
  EXPECT_THAT(pieces[1].values(), ElementsAre(2, 3));
  EXPECT_THAT(pieces[2].values(), ElementsAre(4));
  EXPECT_EQ(t.unsqueeze(0).shape(), (Shape{1, 5}));
  EXPECT_EQ(t.unsqueeze(-1).shape(), (Shape{5, 1}));
  EXPECT_EQ(t.unsqueeze(-1).squeeze(1).shape(), (Shape{5}));
  EXPECT_THROW(t.squeeze(0), ShapeError);
  EXPECT_THAT([&] { t.narrow(0, 3, 3); },
              ThrowsMessage<ShapeError>("narrow: [3, 6) is not within dimension 0 of (5)"));
  EXPECT_THROW(t.select(0, 5), ShapeError);
  EXPECT_THROW(t.size(1), ShapeError);
}

TEST(Tensor, ExpandRepeatsWithoutCopying) {
  const Tensor t = Tensor::from_values({1, 2}, {2, 1}, DType::f32).expand({3, 2, 2});
  EXPECT_THAT(t.values(), ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2));
  EXPECT_THROW(t.expand({2, 2}), ShapeError);
  EXPECT_THROW(iota({3}).expand({2}), ShapeError);
}

TEST(Tensor, CatAndStack) {
  const Tensor a = iota({2, 2}), b = iota({2, 1});
  EXPECT_THAT(cat({a, b}, 1).values(), ElementsAre(0, 1, 0, 2, 3, 1));
  EXPECT_THAT(cat({a, a.t()}, 0).values(), ElementsAre(0, 1, 2, 3, 0, 2, 1, 3));
  EXPECT_EQ(cat({a, Tensor::empty({0, 2}, DType::f32)}).shape(), (Shape{2, 2}));
  EXPECT_THAT(stack({a, a.t()}, -1).values(), ElementsAre(0, 0, 1, 2, 2, 1, 3, 3));
  EXPECT_THAT(
      [&] {
        cat({a, b}, 0);
      },
      ThrowsMessage<ShapeError>("cat along dimension 0: (2, 2) beside (2, 1)"));
  EXPECT_THROW(cat({a, a.to(DType::f64)}), DTypeError);
}

TEST(Tensor, BytesGoInAndOutInRowMajorOrder) {
  Tensor t = Tensor::zeros({2, 2}, DType::i32).t();
  const std::int32_t numbers[] = {1, 2, 3, 4};
  t.copy_from(std::as_bytes(std::span(numbers)));
  EXPECT_THAT(t.values(), ElementsAre(1, 2, 3, 4));
  std::int32_t back[4] = {};
  t.t().copy_to(std::as_writable_bytes(std::span(back)));
  EXPECT_THAT(back, ElementsAre(1, 3, 2, 4));
  EXPECT_THROW(t.copy_from(std::as_bytes(std::span(numbers, 3))), ShapeError);
}

TEST(Tensor, BorrowedMemoryIsWrittenThrough) {
  float memory[] = {1, 2, 3};
  Tensor t = Tensor::from_blob(memory, {3}, DType::f32, Place::host);
  t.narrow(0, 1, 2).fill_(5);
  EXPECT_THAT(memory, ElementsAre(1, 5, 5));
  EXPECT_THROW(Tensor::from_blob(nullptr, {3}, DType::f32, Place::host), ShapeError);
}

TEST(Tensor, RefusesImpossibleShapes) {
  EXPECT_THAT(
      [] {
        Tensor::empty({-1, 2}, DType::f32);
      },
      ThrowsMessage<ShapeError>("negative extent in shape (-1, 2)"));
  EXPECT_THAT(
      [] {
        Tensor::empty({1 << 30, 1 << 30, 1 << 30}, DType::f32);
      },
      ThrowsMessage<ShapeError>(HasSubstr("larger than any memory")));
}

TEST(Tensor, EqualSeesEveryBit) {
  const Tensor zero = Tensor::from_values({0.0}, {1}, DType::f32),
               minus = Tensor::from_values({-0.0}, {1}, DType::f32);
  EXPECT_FALSE(equal(zero, minus));
  EXPECT_TRUE(equal(zero, zero.clone()));
  EXPECT_FALSE(equal(zero, zero.view({1, 1})));
  EXPECT_FALSE(equal(zero, zero.to(DType::f64)));
  const Tensor nan = Tensor::from_values({NAN}, {1}, DType::bf16);
  EXPECT_TRUE(equal(nan, nan.clone()));
}

TEST(Tensors, LooksUpByName) {
  Tensors tensors{{"A", iota({1})}, {"B", iota({2})}};
  EXPECT_EQ(tensors["B"].numel(), 2);
  EXPECT_THAT([&] { tensors["C"]; }, ThrowsMessage<std::out_of_range>("no tensor \"C\"; there are: A, B"));
  EXPECT_TRUE(tensors.contains("A"));
  tensors.set("A", iota({5}));
  EXPECT_EQ(tensors["A"].numel(), 5);
  EXPECT_EQ(tensors.size(), 2u);
}

TEST(Views, UnfoldAndSplit) {
  const Tensor m = Tensor::from_values({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}, DType::f32);
  const Tensor windows = m.unfold(1, 2, 2);
  EXPECT_EQ(windows.shape(), (Shape{2, 2, 2}));
  EXPECT_THAT(windows.values(), ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(m.unfold(1, 3, 1).select(0, 0).values(), ::testing::ElementsAre(1, 2, 3, 2, 3, 4));
  EXPECT_THROW(m.unfold(0, 3, 1), ShapeError);
  EXPECT_THAT(m.split({1, 3}, 1)[1].values(), ::testing::ElementsAre(2, 3, 4, 6, 7, 8));
  EXPECT_THROW(m.split({1, 2}, 1), ShapeError);
}

TEST(Values, IntegersAndItems) {
  EXPECT_THAT(Tensor::from_values({-3, 4}, {2}, DType::i32).integers(), ::testing::ElementsAre(-3, 4));
  EXPECT_THROW(Tensor::zeros({2}, DType::f32).integers(), DTypeError);
  EXPECT_EQ(Tensor::full({1, 1}, 2.5, DType::bf16).item(), 2.5);
  EXPECT_THROW(Tensor::zeros({2}, DType::f32).item(), ShapeError);
}

}  // namespace
}  // namespace pkb::ref
