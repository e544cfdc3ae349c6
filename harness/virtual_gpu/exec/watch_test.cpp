// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

TEST(Watch, SeesEachWordChange) {
  std::vector<std::uint32_t> words(16, 5);
  for (std::size_t i = 3; i < 7; ++i) {
    Watch watch;
    watch.add(&words[3], 4);
    watch.add(reinterpret_cast<const std::byte*>(&words[4]) + 2, 8);  // words 4 to 6
    watch.seal();
    EXPECT_FALSE(watch.changed());
    words[i] = 6;
    EXPECT_TRUE(watch.changed()) << i;
    words[i] = 5;
    EXPECT_FALSE(watch.changed());
  }
  Watch watch;
  watch.add(&words[3], 1);
  words[2] = words[4] = 9;
  EXPECT_FALSE(watch.changed());
}

TEST(Watch, TheFirstLookCounts) {
  std::uint32_t word = 1;
  Watch watch;
  watch.add(&word, 4);
  word = 2;
  watch.add(&word, 4);
  watch.seal();
  EXPECT_TRUE(watch.changed());
}

TEST(Watch, WhatIsTooMuchMayAlwaysHaveChanged) {
  std::vector<std::uint32_t> words(5000);
  Watch watch;
  for (int round = 0; round < 3; ++round)
    for (std::size_t i = 0; i < 4000; ++i) watch.add(&words[i], 4);  // the same ones again
  watch.seal();
  EXPECT_FALSE(watch.changed());
  watch.add(words.data() + 4000, 4000);
  EXPECT_TRUE(watch.changed());
  watch.clear();
  EXPECT_FALSE(watch.changed());
  watch.give_up();
  EXPECT_TRUE(watch.changed());
}

/// Each thread polls the word of its number, 32 of them apart, and its warp is done when all are set.
constexpr const char* kEach = R"(
  mul.wide.u32 %rd1, %r0, 128;
  add.s64 %rd1, %rd1, %rd0;
  wait:
  ld.acquire.sys.global.u32 %r2, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra wait;)";

TEST(PollingBlock, GoesOnWhenWhatAnyThreadPollsChanges) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    TestRun run(kernel_text(kEach), 96);
    for (std::uint32_t thread = 0; thread < 96; ++thread) {
      ASSERT_EQ(run.run(seed), Block::Outcome::polling) << thread;
      EXPECT_FALSE(run.block().may_go_on());
      run.word(32 * thread + 1) = 1;  // beside it
      EXPECT_FALSE(run.block().may_go_on());
      run.word(32 * thread) = 1;
      EXPECT_TRUE(run.block().may_go_on()) << thread;
    }
    EXPECT_EQ(run.run(seed), Block::Outcome::finished);
  }
}

TEST(PollingBlock, GoesOnWhenMemoryIsAllocatedOrFreed) {
  TestRun run(kernel_text(kEach));
  ASSERT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_FALSE(run.block().may_go_on());
  run.memory().remove(run.address());
  EXPECT_TRUE(run.block().may_go_on());
  EXPECT_EQ(run.run(), Block::Outcome::fault);
}

TEST(PollingBlock, CountsTheBytesOfItsLooksToTheirOwner) {
  TestRun run(kernel_text(kEach));
  run.launch().ranks = 2;
  ASSERT_EQ(run.run(), Block::Outcome::polling);
  const Counters& counters = run.block().counters();
  EXPECT_GT(counters.read_from[0], 0u);
  EXPECT_EQ(counters.read_from[0], counters.global_read);
}

TEST(PollingBlock, WaitsForTheKernelBefore) {
  std::atomic<bool> done = false;
  TestRun run(kernel_text("griddepcontrol.wait;\nst.global.u32 [%rd0], 1;"));
  run.launch().prerequisite = &done;
  ASSERT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_FALSE(run.block().may_go_on());
  done = true;
  EXPECT_TRUE(run.block().may_go_on());
  EXPECT_EQ(run.run(), Block::Outcome::finished);
}

}  // namespace
}  // namespace pkb::virtual_gpu
