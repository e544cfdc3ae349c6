// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/clock.h"

#include <gtest/gtest.h>

#include <random>

namespace pkb::virtual_gpu::check {
namespace {

KnownList random_list(std::mt19937& random) {
  KnownList list;
  const std::uint32_t count = random() % 60;
  std::uint32_t key = random() % 1000, time = random() % kLastTime, keys = 1, times = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (random() % 8 == 0) {
      keys = 1 + random() % (random() % 2 == 0 ? 3 : 100'000);
      times = random() % (random() % 2 == 0 ? 3 : kLastTime);
    }
    list.push_back({key, time});
    key += keys;
    time = (time + (random() % 8 != 0 ? times : 0 - times)) & kLastTime;
  }
  return list;
}

TEST(ClockEncoding, KeepsWhateverIsKnown) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    Clock clock;
    for (std::uint32_t at = 0; random() % 3 != 0; at += 10)
      clock.ended.push_back({at, at + 1 + static_cast<std::uint32_t>(random() % 8)});
    for (KnownList* list : {&clock.blocks, &clock.warps, &clock.threads}) *list = random_list(random);
    ASSERT_EQ(Clock::decode(clock.encode()), clock) << i;
  }
}

TEST(ClockEncoding, ThousandsOfThreadsThatDoTheSameTakeFewWords) {
  Clock rising, falling;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    rising.threads.push_back({5000 + i, 7 + 3 * i});
    falling.threads.push_back({5000 + 2 * i, 40'000 - 4 * i});
  }
  for (const Clock& clock : {rising, falling}) {
    EXPECT_LE(clock.encode().size(), 8u);
    EXPECT_EQ(Clock::decode(clock.encode()), clock);
  }
}

TEST(ClockEncoding, NonsenseIsAnEmptyClock) {
  Clock clock;
  for (std::uint32_t i = 0; i < 10; ++i) clock.threads.push_back({i, i});
  const std::vector<std::uint32_t> whole = clock.encode();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(Clock::decode(std::span(whole).first(size)), Clock()) << size;
  std::vector<std::uint32_t> many = whole;
  many.at(6) = ~0u;  // as many in the run
  EXPECT_EQ(Clock::decode(many), Clock());
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint32_t> spoiled = whole;
    spoiled[random() % spoiled.size()] = random() % 2 == 0 ? random() : random() % 16;
    EXPECT_LE(Clock::decode(spoiled).threads.size(), (1u << 24) + 1);
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu::check
