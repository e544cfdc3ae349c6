// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/address_window.h"

#include <gtest/gtest.h>

namespace pkb::virtual_gpu {
namespace {

constexpr std::uint64_t kTera = std::uint64_t{1} << 40;

TEST(AddressWindow, GivesDisjointAlignedAddresses) {
  AddressWindow window;
  const std::uint64_t a = window.take(1000, 512), b = window.take(1, 1 << 21), c = window.take(512, 512);
  EXPECT_EQ(a % 512, 0u);
  EXPECT_EQ(b % (1 << 21), 0u);
  EXPECT_GE(b, a + 1000);
  EXPECT_GE(c, b + 1);
  EXPECT_TRUE(window.contains(a) && window.contains(c + 511));
  EXPECT_FALSE(window.contains(reinterpret_cast<std::uintptr_t>(&window)));
}

TEST(AddressWindow, ComesBackToReleasedAddressesWhenTheRestIsUsed) {
  AddressWindow window;
  const std::uint64_t a = window.take(3 * kTera, 512), b = window.take(3 * kTera, 512);
  window.give_back(a);
  const std::uint64_t c = window.take(kTera, 512);
  EXPECT_GT(c, b);  // not at once
  EXPECT_EQ(window.take(2 * kTera, 512), a);
  EXPECT_EQ(window.take(kTera, 512), a + 2 * kTera);
  EXPECT_EQ(window.take(kTera + 1, 512), 0u);
  EXPECT_EQ(window.take(kTera, 512), c + kTera);  // the last of the eight
  EXPECT_EQ(window.take(1, 1), 0u);
  window.give_back(b);
  EXPECT_EQ(window.take(3 * kTera, 512), b);
}

}  // namespace
}  // namespace pkb::virtual_gpu
