// SPDX-License-Identifier: Apache-2.0
#include "reference/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <vector>

#include "reference/normal.h"
#include "reference/parallel.h"
#include "reference/philox.h"

namespace pkb::ref {
namespace {

using ::testing::ElementsAre;
using Kind = Distribution::Kind;

// Known answers: Random123, examples/kat_vectors, the lines "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_THAT(philox4x32({{0, 0, 0, 0}}, 0, 0).word,
              ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(philox4x32({{~0u, ~0u, ~0u, ~0u}}, ~0u, ~0u).word,
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox4x32({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0).word,
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(Normal, LogarithmMatchesTheLibrary) {
  for (double x = 1.1e-10; x < 1; x *= 1.0137)
    EXPECT_NEAR(exact_log(x), std::log(x), 4e-16 * std::fabs(std::log(x)) + 1e-18) << x;
}

TEST(Normal, QuantileInvertsTheDistribution) {
  // P(N < z) = erfc(-z / sqrt 2) / 2; its derivative is the density. Only the lower half is well conditioned.
  for (double p = 0x1p-33; p < 0.5; p *= 1.0171) {
    const double z = normal_quantile(p), density = std::exp(-z * z / 2) / std::sqrt(2 * M_PI);
    const double newton_step = (std::erfc(-z / M_SQRT2) / 2 - p) / density;
    EXPECT_NEAR(newton_step, 0, 2e-14) << p;
    EXPECT_NEAR(normal_quantile(1 - p), -z, 1e-15 / density) << p;
  }
  // Published percentage points.
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-15);
  EXPECT_NEAR(normal_quantile(0.5), 0, 0);
  EXPECT_NEAR(normal_quantile(0.001), -3.090232306167813, 2e-15);
}

Tensor filled(const Shape& shape, DType dtype, const Distribution& distribution,
              const RandomKey& key = {.seed = 42}) {
  Tensor t = Tensor::empty(shape, dtype);
  random_fill(t, distribution, key);
  return t;
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0;
};
Moments moments_of(const std::vector<double>& values) {
  Moments m;
  for (const double v : values) m.mean += v / double(values.size());
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / double(values.size());
  for (const double v : values) m.fourth += std::pow(v - m.mean, 4) / double(values.size());
  return m;
}

TEST(RandomFill, NormalHasItsMoments) {
  // 10^6 draws: five standard errors of mean, variance and kurtosis.
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32, DType::f64}) {
    const Moments m =
        moments_of(filled({1'000'000}, dtype, {.kind = Kind::normal, .mean = 3, .stddev = 2}).values());
    EXPECT_NEAR(m.mean, 3, 5 * 2 / 1e3);
    EXPECT_NEAR(m.variance, 4, 5 * 4 * std::sqrt(2) / 1e3);
    EXPECT_NEAR(m.fourth / (m.variance * m.variance), 3, 5 * std::sqrt(24) / 1e3);
  }
}

TEST(RandomFill, UniformCoversItsRange) {
  const std::vector<double> values =
      filled({1'000'000}, DType::f64, {.kind = Kind::uniform, .low = -1, .high = 3}).values();
  const Moments m = moments_of(values);
  EXPECT_NEAR(m.mean, 1, 5 * std::sqrt(4.0 / 3) / 1e3);
  EXPECT_NEAR(m.variance, 16.0 / 12, 0.01);
  EXPECT_GE(*std::ranges::min_element(values), -1);
  EXPECT_LT(*std::ranges::max_element(values), 3);
}

TEST(RandomFill, IntegersAreAllAlikeAndZerosHaveBothSigns) {
  std::map<double, int> counts;
  int minus_zeros = 0;
  for (const double v :
       filled({170'000}, DType::bf16, {.kind = Kind::integers, .low = -8, .high = 8}).values()) {
    ++counts[v];
    minus_zeros += v == 0 && std::signbit(v);
  }
  ASSERT_EQ(counts.size(), 17u);
  // Expected 10^4 each with a standard deviation below 100.
  for (const auto& [value, count] : counts) EXPECT_NEAR(count, 10'000, 500) << value;
  EXPECT_NEAR(minus_zeros, 5'000, 350);
  EXPECT_EQ(filled({100}, DType::i64, {.kind = Kind::integers, .low = 5, .high = 5}).values(),
            std::vector<double>(100, 5));
  EXPECT_THROW(filled({1}, DType::u8, {.kind = Kind::integers, .low = 0, .high = 256}), DTypeError);
  EXPECT_THROW(filled({1}, DType::f32, {.kind = Kind::integers, .low = 2, .high = 1}), DTypeError);
}

TEST(RandomFill, BitsReachEveryPattern) {
  std::array<int, 65536> seen{};
  const Tensor t = filled({1 << 20}, DType::bf16, {.kind = Kind::bits});
  for (std::int64_t i = 0; i < t.numel(); ++i) ++seen[t.as<std::uint16_t>()[i]];
  // 16 of each on average: none missing is likely to e^-16 * 65536 = 0.7 %, so allow a few.
  EXPECT_LT(std::ranges::count(seen, 0), 5);
  EXPECT_LT(*std::ranges::max_element(seen), 50);
}

TEST(RandomFill, BitsAreTheWordsOfPhilox) {
  // Block 1 of seed 0x0000000200000001: counter (1, 0, tensor 5 and rank 6, trial 4).
  const Words4 words = philox4x32({{1, 0, 0x00060005, 4}}, 1, 2);
  const RandomKey key{.seed = 0x200000001, .trial = 4, .tensor = 5, .rank = 6};
  const Tensor t = filled({8}, DType::i32, {.kind = Kind::bits}, key);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(t.as<std::uint32_t>()[4 + i], words.word[i]);
  const Tensor bytes = filled({32}, DType::u8, {.kind = Kind::bits}, key);
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(bytes.as<std::uint8_t>()[16 + i], (words.word[i / 4] >> (8 * (i % 4))) & 255);
}

TEST(RandomFill, AnElementDependsOnItsIndexAndKeyAlone) {
  const Distribution distributions[] = {{.kind = Kind::normal},
                                        {.kind = Kind::uniform},
                                        {.kind = Kind::integers, .low = -3, .high = 3},
                                        {.kind = Kind::bits}};
  for (const Distribution& distribution : distributions) {
    const Tensor whole = filled({300'001}, DType::f32, distribution);
    const Tensor part = filled({1003}, DType::f32, distribution);
    EXPECT_TRUE(equal(whole.narrow(0, 0, 1003).clone(), part));
    set_host_threads(1);
    EXPECT_TRUE(equal(whole, filled({300'001}, DType::f32, distribution)));
    set_host_threads(usable_cores());
    const RandomKey others[] = {
        {.seed = 43}, {.seed = 42, .trial = 1}, {.seed = 42, .tensor = 1}, {.seed = 42, .rank = 1}};
    for (const RandomKey& other : others)
      EXPECT_FALSE(equal(part, filled({1003}, DType::f32, distribution, other)));
  }
}

TEST(RandomFill, ValuesArePinned) {
  // Seed 42, computed apart: Philox in Python, the quantile with its statistics.NormalDist.
  const std::vector<double> normal = filled({4}, DType::f64, {.kind = Kind::normal}).values();
  const double expected[] = {0.2870419004491994, -0.0788234689186628, -1.4521371467784647,
                             -0.41011294252472946};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(normal[i], expected[i], 4e-16 * std::fabs(expected[i]));
}

TEST(RandomFill, RefusesWhatItCannotFill) {
  EXPECT_THROW(filled({2}, DType::i32, {.kind = Kind::normal}), DTypeError);
  Tensor strided = Tensor::zeros({2, 3}, DType::f32).t();
  EXPECT_THROW(random_fill(strided, {}, {}), ShapeError);
}

}  // namespace
}  // namespace pkb::ref
