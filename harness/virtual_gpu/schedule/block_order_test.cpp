// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/block_order.h"

#include <gtest/gtest.h>

#include <vector>

namespace pkb::virtual_gpu {
namespace {

TEST(BlockOrder, IsAPermutationForEverySeed) {
  for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 16u, 17u, 100u, 1024u, 1025u}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const BlockOrder order(count, seed);
      std::vector<int> seen(count);
      for (std::uint64_t turn = 0; turn < count; ++turn) {
        ASSERT_LT(order[turn], count);
        ++seen[order[turn]];
      }
      ASSERT_EQ(seen, std::vector<int>(count, 1)) << count << " blocks, seed " << seed;
    }
  }
}

TEST(BlockOrder, SeedZeroKeepsTheOrderAndOthersMixIt) {
  const BlockOrder straight(1000, 0), first(1000, 1), second(1000, 2);
  int same_as_straight = 0, same_as_each_other = 0;
  for (std::uint64_t turn = 0; turn < 1000; ++turn) {
    EXPECT_EQ(straight[turn], turn);
    same_as_straight += first[turn] == turn;
    same_as_each_other += first[turn] == second[turn];
  }
  EXPECT_LT(same_as_straight, 20);
  EXPECT_LT(same_as_each_other, 20);
}

TEST(BlockOrder, LargestGrid) {
  const std::uint64_t count = 2'147'483'647ull * 65'535;
  const BlockOrder order(count, 9);
  for (const std::uint64_t turn : {std::uint64_t{0}, count / 2, count - 1}) EXPECT_LT(order[turn], count);
}

}  // namespace
}  // namespace pkb::virtual_gpu
