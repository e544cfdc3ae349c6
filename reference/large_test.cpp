// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "reference/testing/ranks.h"

namespace pkb::ref::testing {
namespace {

constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 5;  // more than an int counts

/// Marks both sides of every place where a count, or a message, could wrap.
void mark(Tensor& t, int rank) {
  for (const std::int64_t i : {std::int64_t{0}, kCount / 2 - 1, kCount / 2 + 3, kCount - 6, kCount - 1})
    t.narrow(0, i, 1).fill_(10 * (rank + 1));
}

TEST(Large, AllReduceAndBroadcastBeyondTwoGiB) {
  with_ranks(2, {}, [](Context& ctx) {
    const int rank = ctx.world().rank();
    Tensor t = Tensor::full({kCount}, rank + 1, DType::u8);
    mark(t, rank);
    ctx.world().all_reduce(t);
    const auto* const bytes = t.as<std::uint8_t>();
    EXPECT_EQ(std::count(bytes, bytes + kCount, std::uint8_t{3}), kCount - 5);
    EXPECT_EQ(std::count(bytes, bytes + kCount, std::uint8_t{30}), 5);
    if (rank == 0) mark(t, 3);
    ctx.world().broadcast(t, 0);
    EXPECT_EQ(std::count(bytes, bytes + kCount, std::uint8_t{40}), 5);
    EXPECT_EQ(bytes[kCount - 1], 40);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
