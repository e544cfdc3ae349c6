// SPDX-License-Identifier: Apache-2.0
#include "reference/short_walk.h"

#include <gtest/gtest.h>

#include <random>

namespace pkb::ref {
namespace {

TEST(Divider, DividesAllBelowTwoToThe31) {
  constexpr std::uint32_t kLast = (1u << 31) - 1;
  std::vector<std::uint32_t> divisors{kLast, 1u << 31, kLast / 2,     kLast / 2 + 2,
                                      641,   1u << 16, (1u << 16) + 1};
  for (std::uint32_t d = 1; d <= 300; ++d) divisors.push_back(d);
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) divisors.push_back(1 + (random() >> (1 + random() % 31)));
  for (const std::uint32_t divisor : divisors) {
    const Divider divider(divisor);
    const auto expect = [&](std::uint64_t number) {
      if (number <= kLast) {
        ASSERT_EQ(divider.quotient(static_cast<std::uint32_t>(number)), number / divisor)
            << number << " / " << divisor;
      }
    };
    for (std::uint64_t number = 0; number < 70; ++number) {
      expect(number);
      expect(kLast - number);
      expect(random() >> 1);
      const std::uint64_t multiple =
          (random() >> 1) / divisor * std::uint64_t{divisor};  // where quotients change
      expect(multiple);
      expect(multiple + divisor - 1);
      if (multiple > 0) expect(multiple - 1);
    }
  }
}

TEST(ShortWalk, GoesWhereTheWalkGoes) {
  const Tensor whole = Tensor::empty({5, 6, 7, 8}, DType::u8);
  for (const Tensor& from : {whole.permute({2, 0, 3, 1}), whole.narrow(1, 2, 3), whole.select(3, 1),
                             whole.narrow(0, 0, 1).expand({4, 6, 7, 8})}) {
    const Walk<2> walk = ref::walk(Tensor::empty(from.shape(), DType::u8), from);
    const auto brief = ShortWalk<2>::of(walk);
    ASSERT_TRUE(brief);
    EXPECT_EQ(brief->count, walk.count);
    for (std::int64_t i = 0; i < walk.count; ++i) {
      std::int64_t wanted[2];
      std::uint32_t got[2];
      walk.offsets(i, wanted);
      brief->offsets(static_cast<std::uint32_t>(i), got);
      ASSERT_EQ(got[0], wanted[0]);
      ASSERT_EQ(got[1], wanted[1]);
    }
  }
}

TEST(ShortWalk, IsNoneOfLargeWalks) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  EXPECT_FALSE(ShortWalk<1>::of({.dims = 1, .count = kLarge, .extents = {kLarge}, .strides = {{1}}}));
  EXPECT_FALSE(ShortWalk<1>::of({.dims = 1, .count = 2, .extents = {2}, .strides = {{kLarge}}}));
  EXPECT_FALSE(ShortWalk<1>::of({.dims = 2, .count = 6, .extents = {2, 3}, .strides = {{kLarge - 2, 1}}}));
  EXPECT_TRUE(ShortWalk<1>::of({.dims = 2, .count = 6, .extents = {2, 3}, .strides = {{kLarge - 3, 1}}}));
}

}  // namespace
}  // namespace pkb::ref
