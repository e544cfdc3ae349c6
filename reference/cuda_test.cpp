// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "reference/convolution.h"
#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/direct_convolution.h"
#include "reference/testing/ranks.h"

// The same operator on host and CUDA.
namespace pkb::ref {
namespace {

using Kind = Distribution::Kind;

class Cuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::gpus() == 0) GTEST_SKIP() << "no GPU here";
  }
};

constexpr DType kNumeric[] = {DType::bf16, DType::f16, DType::f32, DType::f64,
                              DType::i8,   DType::u8,  DType::i32, DType::i64};
constexpr DType kFloating[] = {DType::bf16, DType::f16, DType::f32, DType::f64};

Tensor random(Place place, const Shape& shape, DType dtype, const Distribution& distribution,
              std::uint16_t number = 0) {
  Tensor t = Tensor::empty(shape, dtype, place);
  random_fill(t, distribution, {.seed = 11, .tensor = number});
  return t;
}

const Distribution kSmall{.kind = Kind::integers, .low = 0, .high = 7};

/// Expects `compute` to give the same bits in both places.
void expect_same(const std::string& what, const std::function<Tensor(Place)>& compute) {
  const Tensor host = compute(Place::host), cuda = compute(Place::cuda);
  EXPECT_EQ(cuda.place(), Place::cuda) << what;
  EXPECT_EQ(host.shape(), cuda.shape()) << what;
  EXPECT_TRUE(equal(host, cuda)) << what;
}

/// Expects fp64 differences of at most `bound` times the largest value.
void expect_near(const std::string& what, double bound, const std::function<Tensor(Place)>& compute) {
  const std::vector<double> host = compute(Place::host).values(), cuda = compute(Place::cuda).values();
  ASSERT_EQ(host.size(), cuda.size()) << what;
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    largest = std::max(largest, std::fabs(host[i]));
    error = std::max(error, std::fabs(host[i] - cuda[i]));
    ASSERT_FALSE(std::isnan(cuda[i])) << what << " at " << i;
  }
  EXPECT_LE(error, bound * largest) << what;
}

TEST_F(Cuda, RandomNumbersAreTheSameBits) {
  for (const DTypeInfo& each : kDTypes) {
    const std::string name(each.name);
    expect_same("bits " + name,
                [&](Place p) { return random(p, {100'003}, each.dtype, {.kind = Kind::bits}); });
    if (each.bytes == 1 && each.floating) continue;
    expect_same("integers " + name, [&](Place p) { return random(p, {100'003}, each.dtype, kSmall); });
    if (!each.floating) continue;
    expect_same("normal " + name,
                [&](Place p) { return random(p, {1'000'003}, each.dtype, {.mean = 0.3, .stddev = 1.7}); });
    expect_same("uniform " + name, [&](Place p) {
      return random(p, {1'000'003}, each.dtype, {.kind = Kind::uniform, .low = -0.1, .high = 0.7});
    });
  }
}

TEST_F(Cuda, ConversionsAreTheSameBits) {
  for (const DType from : kNumeric)
    for (const DType to : kNumeric)
      expect_same(std::string(name_of(from)) + " to " + std::string(name_of(to)), [&](Place p) {
        return random(p, {33, 65}, from, kSmall).t().to(to);
      });
  // Every rounding: from wide normal numbers, some of them subnormal in fp16.
  for (const DType from : kFloating)
    for (const DType to : kFloating)
      expect_same("rounding", [&](Place p) { return random(p, {500'001}, from, {.stddev = 1e-4}).to(to); });
}

TEST_F(Cuda, ViewsAndCopies) {
  for (const DType dtype : {DType::u8, DType::bf16, DType::f32, DType::i64}) {
    const auto input = [&](Place p) { return random(p, {5, 7, 9}, dtype, {.kind = Kind::bits}); };
    expect_same("transpose", [&](Place p) { return input(p).transpose(0, 2).contiguous(); });
    expect_same("narrow", [&](Place p) { return input(p).narrow(2, 1, 5).clone(); });
    expect_same("reshape", [&](Place p) { return input(p).t().reshape({7, 45}); });
    // Tiles that end within the tensor, tiles of pairs, planes beside each other, several small elements at
    // once.
    for (const Shape& shape : {Shape{1, 33, 65, 1}, Shape{3, 50, 70, 2}, Shape{2, 64, 16, 3},
                               Shape{3, 130, 68, 1}, Shape{2, 132, 260, 1}})
      for (const std::vector<int>& order : {std::vector<int>{0, 2, 1, 3}, {2, 0, 1, 3}, {3, 2, 1, 0}})
        expect_same("permute", [&](Place p) {
          return random(p, shape, dtype, {.kind = Kind::bits}).permute(order).contiguous();
        });
    for (const std::int64_t start : {1, 2, 4})  // where small elements may not lie as many at once want
      expect_same("permute from a place inside", [&](Place p) {
        return random(p, {2, 128, 136}, dtype, {.kind = Kind::bits})
            .narrow(2, start, 128)
            .transpose(1, 2)
            .contiguous();
      });
    expect_same("expand", [&](Place p) {
      return input(p).narrow(0, 2, 1).expand({3, 5, 7, 9}).contiguous();
    });
    expect_same("cat", [&](Place p) { return cat({input(p), input(p).narrow(1, 0, 2)}, 1); });
    expect_same("stack", [&](Place p) { return stack({input(p)[0], input(p)[3]}, 1); });
    expect_same("write through a view", [&](Place p) {
      Tensor t = input(p);
      t.select(1, 3).copy_(t.select(1, 0));
      return t;
    });
    // Across places: a strided view there into a strided view here.
    expect_same("across", [&](Place p) {
      Tensor t = input(p);
      t.transpose(0, 1).narrow(0, 1, 2).copy_(
          input(p == Place::host ? Place::cuda : Place::host).transpose(0, 1).narrow(0, 4, 2));
      return t;
    });
  }
  expect_same("fill", [](Place p) {
    Tensor t = Tensor::full({3, 4}, 2.7, DType::bf16, p);
    t.select(1, 2).fill_(-1);
    return t;
  });
  expect_same("zeros", [](Place p) { return Tensor::zeros({3, 4}, DType::e4m3, p); });
}

TEST_F(Cuda, ElementwiseIsTheSameBits) {
  for (const DType dtype : kFloating) {
    const auto a = [&](Place p) { return random(p, {101, 67}, dtype, {}, 1); };
    const auto b = [&](Place p) { return random(p, {101, 67}, dtype, {}, 2); };
    expect_same("add", [&](Place p) { return a(p) + b(p); });
    expect_same("subtract", [&](Place p) { return a(p) - b(p); });
    expect_same("multiply", [&](Place p) { return a(p) * b(p); });
    expect_same("divide", [&](Place p) { return a(p) / b(p); });
    expect_same("scalars", [&](Place p) { return -(a(p) * 1.1) + 0.3; });
    expect_same("abs", [&](Place p) { return abs(a(p)); });
    expect_same("maximum", [&](Place p) { return maximum(a(p), b(p)); });
    expect_same("minimum", [&](Place p) { return minimum(a(p), b(p)); });
    expect_same("broadcast", [&](Place p) { return a(p) + b(p)[3] * a(p).narrow(1, 5, 1); });
    // Not aligned to 16 bytes, and strided.
    expect_same("unaligned", [&](Place p) {
      return a(p).view({-1}).narrow(0, 1, 6001) + b(p).view({-1}).narrow(0, 3, 6001);
    });
    expect_same("strided", [&](Place p) { return a(p).t() + b(p).view({67, 101}); });
  }
  for (const DType dtype : {DType::i8, DType::u8, DType::i32, DType::i64})
    expect_same("integers", [&](Place p) {
      const Tensor a = random(p, {1001}, dtype, kSmall, 1), b = random(p, {1001}, dtype, kSmall, 2);
      return a * b + abs(maximum(a, b)) * 2;
    });
}

TEST_F(Cuda, Reductions) {
  // Rows, columns, the middle, everything; long enough for slices.
  const std::vector<std::vector<int>> choices = {{0}, {1}, {2}, {0, 2}, {1, 2}, {}};
  for (const Shape& shape :
       {Shape{40, 33, 65}, Shape{3, 100'003, 1}, Shape{1, 3, 70'001}, Shape{20'011, 1, 130}})
    for (const std::vector<int>& dimensions : choices) {
      const std::string what = show("{} along {}", {shape, Shape(dimensions.begin(), dimensions.end())});
      expect_same("sum of integers of " + what, [&](Place p) {
        return sum(random(p, shape, DType::i32, kSmall), {.dimensions = dimensions});
      });
      expect_same("amax of " + what, [&](Place p) {
        return amax(random(p, shape, DType::bf16, {}), {.dimensions = dimensions});
      });
      expect_same("amin of " + what, [&](Place p) {
        return amin(random(p, shape, DType::f32, {}), {.dimensions = dimensions});
      });
      expect_near("sum of " + what, 1e-12, [&](Place p) {
        return sum(random(p, shape, DType::f64, {.mean = 1}), {.dimensions = dimensions});
      });
      expect_near("mean of " + what, 0x1p-7, [&](Place p) {
        return mean(random(p, shape, DType::bf16, {.mean = 1}), {.dimensions = dimensions});
      });
      expect_near("strided sum of " + what, 1e-5, [&](Place p) {
        return sum(random(p, shape, DType::f32, {.mean = 1}).transpose(0, 2), {.dimensions = dimensions});
      });
    }
}

TEST_F(Cuda, ProductsOfIntegersAreExactInEveryLayout) {
  const Distribution tiny{.kind = Kind::integers, .low = -1, .high = 1};
  for (const DType dtype : kFloating)
    for (const Shape& mkn :
         {Shape{7, 13, 5}, Shape{113, 71, 59}, Shape{64, 128, 32}, Shape{1, 5, 3}, Shape{3, 1, 1}})
      for (const bool left : {false, true})
        for (const bool right : {false, true})
          expect_same(show("{} x {}, {} {}", {mkn, dtype, left, right}), [&](Place p) {
            const Tensor a = left ? random(p, {mkn[1], mkn[0]}, dtype, tiny, 1).t()
                                  : random(p, {mkn[0], mkn[1]}, dtype, tiny, 1);
            const Tensor b = right ? random(p, {mkn[2], mkn[1]}, dtype, tiny, 2).t()
                                   : random(p, {mkn[1], mkn[2]}, dtype, tiny, 2);
            return matmul(a, b);
          });
  for (const DType dtype : kFloating) {
    expect_same("batches", [&](Place p) {
      return matmul(random(p, {3, 1, 9, 8}, dtype, tiny, 1),
                    random(p, {3, 4, 8, 7}, dtype, tiny, 2).narrow(1, 0, 4));
    });
    expect_same("slices", [&](Place p) {
      return matmul(random(p, {9, 24}, dtype, tiny, 1).narrow(1, 5, 11),
                    random(p, {11, 2, 6}, dtype, tiny, 2).select(1, 1));
    });
    expect_same("empty", [&](Place p) {
      return matmul(Tensor::empty({2, 0}, dtype, p), Tensor::empty({0, 3}, dtype, p));
    });
  }
}

TEST_F(Cuda, ProductsOfNormalNumbersAgreeWithinRounding) {
  struct Row {
    DType dtype;
    double bound;
  };
  // fp32 would miss its bound by far with TF32, whose unit roundoff is 2^-11.
  for (const auto& [dtype, bound] :
       {Row{DType::bf16, 0x1p-7}, Row{DType::f16, 0x1p-10}, Row{DType::f32, 1e-5}, Row{DType::f64, 1e-13}})
    expect_near("product", bound, [&](Place p) {
      return matmul(random(p, {129, 515}, dtype, {}, 1), random(p, {515, 77}, dtype, {}, 2));
    });
}

TEST_F(Cuda, ProductsOfRowsThatOverlap) {
  const Distribution tiny{.kind = Kind::integers, .low = -1, .high = 1};
  for (const DType dtype : kFloating)
    for (const auto& [size, step] : {std::pair{5, 2}, {64, 16}, {72, 24}})
      for (const std::int64_t rows : {1, 3, 96, 97, 98})
        expect_same("windows", [&](Place p) {
          return matmul(random(p, {4096}, dtype, tiny, 1).unfold(0, size, step).narrow(0, 0, rows),
                        random(p, {size, 40}, dtype, tiny, 2));
        });
}

TEST_F(Cuda, ConvolutionsOfIntegersAreTheDirectSum) {
  const Distribution tiny{.kind = Kind::integers, .low = -1, .high = 1};
  for (const DType dtype : kFloating)
    for (const testing::DirectConvolution& each : testing::kDirectConvolutions) {
      const auto operand = [&](Place p, const Shape& shape, std::uint16_t number) {
        return random(p, shape, dtype, tiny, number);
      };
      const auto of = [&](Place p) {
        return convolution(operand(p, each.x, 1), operand(p, each.weight, 2), operand(p, {each.weight[0]}, 3),
                           each.options);
      };
      const Tensor got = of(Place::cuda);
      const std::vector<double> sums = testing::direct_convolution(each, operand(Place::host, each.x, 1),
                                                                   operand(Place::host, each.weight, 2),
                                                                   operand(Place::host, {each.weight[0]}, 3));
      EXPECT_EQ(got.values(), Tensor::from_values(sums, got.shape(), dtype).values())
          << show("{} {}", {each.x, dtype});
    }
}

TEST_F(Cuda, ErrorsOfTheDeviceAreReported) {
  EXPECT_THROW(Tensor::empty({std::int64_t{1} << 50}, DType::u8, Place::cuda), std::runtime_error);
  EXPECT_NO_THROW(synchronize());
}

}  // namespace
}  // namespace pkb::ref
