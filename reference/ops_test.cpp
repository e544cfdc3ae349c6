// SPDX-License-Identifier: Apache-2.0
#include "reference/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "reference/random.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

Tensor row(std::initializer_list<double> values, DType dtype = DType::f32) {
  return Tensor::from_values(values, {static_cast<std::int64_t>(values.size())}, dtype);
}

TEST(Elementwise, ComputesAndBroadcasts) {
  const Tensor a = row({1, -2, 3}), b = row({4, 5, -6});
  EXPECT_THAT((a + b).values(), ElementsAre(5, 3, -3));
  EXPECT_THAT((a - b).values(), ElementsAre(-3, -7, 9));
  EXPECT_THAT((a * b).values(), ElementsAre(4, -10, -18));
  EXPECT_THAT((b / a).values(), ElementsAre(4, -2.5, -2));
  EXPECT_THAT((2 * a - 1).values(), ElementsAre(1, -5, 5));
  EXPECT_THAT((-a).values(), ElementsAre(-1, 2, -3));
  EXPECT_THAT(abs(a).values(), ElementsAre(1, 2, 3));
  EXPECT_THAT(maximum(a, b).values(), ElementsAre(4, 5, 3));
  EXPECT_THAT(minimum(a, b).values(), ElementsAre(1, -2, -6));
  EXPECT_THAT((a.view({3, 1}) + row({10, 20})).values(), ElementsAre(11, 21, 8, 18, 13, 23));
  EXPECT_THAT((row({1, 2}, DType::i32) * row({3, -4}, DType::i32)).values(), ElementsAre(3, -8));
}

TEST(Elementwise, Bf16RoundsOncePerOperator) {
  // 256 + 1 is a tie that goes to 256; (256 + 1) + 1 too, while 256 + 2 is exact.
  const Tensor large = row({256}, DType::bf16), one = row({1}, DType::bf16);
  EXPECT_THAT(((large + one) + one).values(), ElementsAre(256));
  EXPECT_THAT((large + (one + one)).values(), ElementsAre(258));
  // The scalar is not rounded to bf16: 256 * 1.01 = 258.56 rounds to 258; with 1.01 as bf16 (1.0078125) it is
  // 258 too, 512 * 1.0117 = 517.99 rounds to 516 or 520 at steps of 4: 516; with 1.0117 as bf16 (1.015625) it
  // would be 520.
  EXPECT_THAT((row({512}, DType::bf16) * 1.0117).values(), ElementsAre(516));
}

TEST(Elementwise, TakesStridedViews) {
  const Tensor m = Tensor::from_values({1, 2, 3, 4, 5, 6}, {2, 3}, DType::f64);
  EXPECT_THAT((m.t() + m.t()).values(), ElementsAre(2, 8, 4, 10, 6, 12));
  EXPECT_THAT((m.t() * m.view({3, 2})).values(), ElementsAre(1, 8, 6, 20, 15, 36));
}

TEST(Elementwise, NaNWins) {
  const Tensor nan = row({NAN, 1}), number = row({1, NAN});
  for (const double v : maximum(nan, number).values()) EXPECT_TRUE(std::isnan(v));
  for (const double v : minimum(nan, number).values()) EXPECT_TRUE(std::isnan(v));
  EXPECT_TRUE(std::isnan(amax(number).values()[0]));
  EXPECT_FALSE(std::signbit(abs(row({-0.0})).values()[0]));
}

TEST(Elementwise, RefusesMixedOperands) {
  EXPECT_THAT(
      [] {
        row({1, 2}) + row({1, 2, 3});
      },
      ThrowsMessage<ShapeError>("map: shapes (2) and (3) do not broadcast"));
  EXPECT_THAT([] { row({1}) + row({1}, DType::f64); },
              ThrowsMessage<DTypeError>("operands are fp32 and fp64; convert one"));
  EXPECT_THROW(row({1}, DType::i32) / row({1}, DType::i32), DTypeError);
}

TEST(Reduce, AlongDimensions) {
  const Tensor t = Tensor::from_values({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {2, 3, 2}, DType::f32);
  EXPECT_THAT(sum(t).values(), ElementsAre(78));
  EXPECT_EQ(sum(t).shape(), Shape{});
  EXPECT_THAT(sum(t, {.dimensions = {0}}).values(), ElementsAre(8, 10, 12, 14, 16, 18));
  EXPECT_THAT(sum(t, {.dimensions = {1}}).values(), ElementsAre(9, 12, 27, 30));
  EXPECT_THAT(sum(t, {.dimensions = {-1, 0}}).values(), ElementsAre(18, 26, 34));
  EXPECT_EQ(sum(t, {.dimensions = {1}, .keep = true}).shape(), (Shape{2, 1, 2}));
  EXPECT_THAT(sum(t.permute({2, 0, 1}), {.dimensions = {0}}).values(), ElementsAre(3, 7, 11, 15, 19, 23));
  EXPECT_THAT(amax(t, {.dimensions = {2}}).values(), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(amin(-t, {.dimensions = {0, 1}}).values(), ElementsAre(-11, -12));
  EXPECT_THAT(mean(t, {.dimensions = {1}}).values(), ElementsAre(3, 4, 9, 10));
  EXPECT_THROW(sum(t, {.dimensions = {1, 1}}), ShapeError);
  EXPECT_THROW(sum(t, {.dimensions = {3}}), ShapeError);
}

TEST(Reduce, EmptyAndIntegers) {
  EXPECT_THAT(sum(Tensor::zeros({0, 2}, DType::f32), {.dimensions = {0}}).values(), ElementsAre(0, 0));
  EXPECT_THROW(amax(Tensor::zeros({0, 2}, DType::f32), {.dimensions = {0}}), ShapeError);
  const Tensor total = sum(row({100, 100, 100}, DType::i8));
  EXPECT_EQ(total.dtype(), DType::i64);
  EXPECT_THAT(total.values(), ElementsAre(300));
}

TEST(Reduce, LongSumsLoseNoDigits) {
  // 2^24 ones: a plain fp32 loop gets there, but 2^24 + 1 of them would stick; a tree does not.
  EXPECT_THAT(sum(Tensor::full({(1 << 24) + 2}, 1, DType::f32)).values(), ElementsAre((1 << 24) + 2));
  // bf16 accumulates in fp32: 1000 ones are 1000, rounded to 1000 (steps of 4).
  EXPECT_THAT(sum(Tensor::full({1000}, 1, DType::bf16)).values(), ElementsAre(1000));
}

/// The product by its definition.
std::vector<double> product(const Tensor& a, const Tensor& b) {
  const std::int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const std::vector<double> left = a.values(), right = b.values();
  std::vector<double> out(static_cast<std::size_t>(m * n), 0);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t x = 0; x < k; ++x)
        out[static_cast<std::size_t>(i * n + j)] +=
            left[static_cast<std::size_t>(i * k + x)] * right[static_cast<std::size_t>(x * n + j)];
  return out;
}

Tensor integers(const Shape& shape, DType dtype, std::uint16_t number) {
  Tensor t = Tensor::empty(shape, dtype);
  random_fill(t, {.kind = Distribution::Kind::integers, .low = -2, .high = 2}, {.seed = 1, .tensor = number});
  return t;
}

class Matmul : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, Matmul, ::testing::Values(DType::bf16, DType::f16, DType::f32, DType::f64),
                         [](const auto& test) { return std::string(name_of(test.param)); });

TEST_P(Matmul, IsExactOnIntegersInEveryLayout) {
  // Sums of 13 products of at most 4 are exact in bf16.
  const DType dtype = GetParam();
  const Tensor a = integers({7, 13}, dtype, 1), b = integers({13, 5}, dtype, 2);
  const std::vector<double> expected = product(a, b);
  const Tensor at = a.t().contiguous().t(), bt = b.t().contiguous().t();  // column-major
  for (const Tensor& left : {a, at})
    for (const Tensor& right : {b, bt}) {
      const Tensor c = matmul(left, right);
      EXPECT_EQ(c.values(), expected);
      EXPECT_TRUE(c.is_contiguous());
      EXPECT_EQ(c.dtype(), dtype);
    }
  // Slices with gaps in rows, and every second column, which needs a copy.
  const Tensor wide = integers({7, 26}, dtype, 3);
  const Tensor middle = wide.narrow(1, 6, 13), second = wide.view({7, 13, 2}).select(2, 1);
  EXPECT_EQ(matmul(middle, b).values(), product(middle, b));
  EXPECT_EQ(matmul(second, b).values(), product(second, b));
  EXPECT_EQ(matmul(middle.narrow(0, 3, 1), b).values(), product(middle.narrow(0, 3, 1), b));
}

TEST_P(Matmul, BatchesBroadcast) {
  const DType dtype = GetParam();
  const Tensor a = integers({2, 3, 4}, dtype, 1), b = integers({4, 5}, dtype, 2),
               many = integers({3, 2, 4, 5}, dtype, 3);
  const Tensor folded = matmul(a, b), full = matmul(a, many), one = matmul(a[0], many);
  EXPECT_EQ(folded.shape(), (Shape{2, 3, 5}));
  ASSERT_EQ(full.shape(), (Shape{3, 2, 3, 5}));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(folded[i].values(), product(a[i], b));
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(full[j][i].values(), product(a[i], many[j][i]));
      EXPECT_EQ(one[j][i].values(), product(a[0], many[j][i]));
    }
  }
}

TEST_P(Matmul, VectorsAndEmptyOperands) {
  const DType dtype = GetParam();
  const Tensor v = row({1, 2}, dtype), m = Tensor::from_values({1, 2, 3, 4}, {2, 2}, dtype);
  EXPECT_THAT(matmul(v, m).values(), ElementsAre(7, 10));
  EXPECT_THAT(matmul(m, v).values(), ElementsAre(5, 11));
  EXPECT_THAT(matmul(v, v).values(), ElementsAre(5));
  EXPECT_EQ(matmul(v, v).shape(), Shape{});
  const Tensor none = matmul(Tensor::empty({2, 0}, dtype), Tensor::empty({0, 3}, dtype));
  EXPECT_EQ(none.values(), std::vector<double>(6, 0));
  EXPECT_EQ(matmul(Tensor::empty({0, 2}, dtype), m).shape(), (Shape{0, 2}));
  EXPECT_EQ(matmul(Tensor::empty({3, 0, 2}, dtype), m).shape(), (Shape{3, 0, 2}));
}

TEST_P(Matmul, RowsMayOverlap) {
  const Tensor line = integers({40}, GetParam(), 1);
  // Windows 2 apart: 5 share an element with the next two, whole turns of them or not.
  for (const std::int64_t rows : {1, 2, 3, 6, 7}) {
    const Tensor windows = line.unfold(0, 5, 2).narrow(0, 0, rows), columns = integers({5, 3}, GetParam(), 2);
    EXPECT_EQ(matmul(windows, columns).values(), product(windows.clone(), columns)) << rows;
    EXPECT_EQ(matmul(windows.unsqueeze(0).expand({2, rows, 5}), columns)[1].values(), product(windows.clone(), columns));
    EXPECT_EQ(matmul(columns.t(), windows.t()).values(), product(columns.t().clone(), windows.t().clone())) << rows;
  }
}

TEST(MatmulRounding, Bf16AccumulatesInFp32AndRoundsOnce) {
  // 16 * 16 + 1 * 1 = 257, a tie that goes to 256; 257 + 2^-7 is beyond it and goes to 258.
  EXPECT_THAT(matmul(row({16, 1}, DType::bf16), row({16, 1}, DType::bf16)).values(), ElementsAre(256));
  EXPECT_THAT(matmul(row({16, 1, 0.125}, DType::bf16), row({16, 1, 0.0625}, DType::bf16)).values(),
              ElementsAre(258));
  // True fp32: 1 + 2^-20 times 1 keeps its last bits, which TF32 would drop.
  EXPECT_THAT(matmul(row({1 + 0x1p-20}), row({1})).values(), ElementsAre(1 + 0x1p-20));
}

TEST(MatmulErrors, NameBothShapes) {
  EXPECT_THAT(
      [] {
        matmul(Tensor::zeros({2, 3}, DType::f32), Tensor::zeros({2, 3}, DType::f32));
      },
      ThrowsMessage<ShapeError>("matmul: (2, 3) x (2, 3): inner extents differ"));
  EXPECT_THAT(
      [] {
        matmul(Tensor::zeros({2, 2}, DType::f32), Tensor::zeros({2, 2}, DType::bf16));
      },
      ThrowsMessage<DTypeError>("matmul: fp32 x bf16; convert one"));
  EXPECT_THAT(
      [] {
        matmul(Tensor::zeros({2, 2}, DType::i32), Tensor::zeros({2, 2}, DType::i32));
      },
      ThrowsMessage<DTypeError>("matmul: takes bf16, fp16, fp32 or fp64, not int32"));
  EXPECT_THROW(matmul(Tensor::zeros({2, 2, 3}, DType::f32), Tensor::zeros({3, 3, 2}, DType::f32)),
               ShapeError);
}

TEST(Linear, AddsTheBiasBeforeTheOneRounding) {
  const Tensor x = row({16, 1}, DType::bf16), weight = Tensor::from_values({16, 0, 16, 1}, {2, 2}, DType::bf16);
  // 256 + 1 + 1 is 258 when rounded once; 257 alone would become 256.
  EXPECT_THAT(linear(x, weight, row({1, 1}, DType::bf16)).values(), ElementsAre(256, 258));
  EXPECT_THAT(linear(x, weight).values(), ElementsAre(256, 256));
  EXPECT_EQ(linear(Tensor::zeros({0, 3, 2}, DType::f32), Tensor::zeros({5, 2}, DType::f32)).shape(), (Shape{0, 3, 5}));
  EXPECT_THAT(linear(Tensor::zeros({2, 0}, DType::f32), Tensor::zeros({1, 0}, DType::f32), row({3})).values(),
              ElementsAre(3, 3));
  EXPECT_THROW(linear(x, weight, row({1}, DType::bf16)), ShapeError);
}

}  // namespace
}  // namespace pkb::ref
