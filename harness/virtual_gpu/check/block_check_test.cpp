// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/block_check.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <string>
#include <vector>

#include "harness/virtual_gpu/check/unjoined.h"

namespace pkb::virtual_gpu::check {
namespace {

using Kind = Access::Kind;

/// Two ranks in one process, with a tensor and a flag of rank 1 that both access.
class BlockCheckTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kData = 1024, kFlag = 64;

  BlockCheckTest() {
    for (int rank = 0; rank < 2; ++rank)
      x_parts.push_back(static_cast<std::byte*>(::mmap(nullptr, Ledger::kBytes, PROT_READ | PROT_WRITE,
                                                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)));
    for (int rank = 0; rank < 2; ++rank) {
      x_checkers.push_back(std::make_unique<Checker>(x_parts, rank, [this](const Fault& fault) {
        x_faults.push_back(fault);
      }));
      x_checkers.back()->begin_run();
    }
  }
  ~BlockCheckTest() override {
    x_checkers.clear();
    for (std::byte* part : x_parts) ::munmap(part, Ledger::kBytes);
  }

  std::shared_ptr<Grid> grid(int rank, std::uint32_t blocks, const ClockPtr& start = empty_clock()) {
    return grid(rank, {blocks, 1, 1}, {1, 1, 1}, start);
  }
  std::shared_ptr<Grid> grid(int rank, Dim3 blocks, Dim3 cluster, const ClockPtr& start = empty_clock()) {
    auto kernel = std::make_shared<Kernel>();
    kernel->display_name = "k";
    for (std::uint32_t line = 0; line < 64; ++line) kernel->places.push_back({"op", 0, line, 0});
    kernel->files = {"a.cu"};
    Launch launch;
    launch.kernel = kernel;
    launch.grid = blocks;
    launch.cluster = cluster;
    launch.block = {64, 1, 1};
    return x_checkers[static_cast<std::size_t>(rank)]->begin(launch, start);
  }
  std::unique_ptr<BlockCheck> block(const std::shared_ptr<Grid>& grid, std::uint64_t index = 0) {
    return std::make_unique<BlockCheck>(grid, index, 64, 256);
  }

  static void access(BlockCheck& block, Shadow& shadow, Kind kind, std::uint32_t warp, int lane,
                     std::uint64_t offset, std::uint32_t line, std::uint32_t bytes = 4) {
    std::uint64_t offsets[32] = {};
    offsets[lane] = offset;
    block.global({.kind = kind, .warp = warp, .place = line, .bytes = bytes}, shadow, 1u << lane, offsets);
  }
  static void shared(BlockCheck& block, Kind kind, std::uint32_t warp, int lane, std::uint64_t offset,
                     std::uint32_t line) {
    std::uint64_t offsets[32] = {};
    offsets[lane] = offset;
    block.shared({.kind = kind, .warp = warp, .place = line, .bytes = 4}, block, 1u << lane, offsets);
  }
  void write(BlockCheck& block, std::uint32_t warp = 0, int lane = 0, std::uint64_t offset = 0) {
    access(block, x_data, Kind::write, warp, lane, offset, 1);
  }
  void read(BlockCheck& block, std::uint32_t warp = 0, int lane = 0, std::uint64_t offset = 0) {
    access(block, x_data, Kind::read, warp, lane, offset, 2);
  }
  void flag(BlockCheck& block, Kind kind, Order order, Scope scope, std::uint32_t line, std::uint32_t warp = 0,
            int lane = 0) {
    BlockCheck::Strong strong(block, {.kind = kind, .order = order, .scope = scope, .warp = warp, .place = line, .bytes = 4},
                              &x_flag, block, 0, lane);
  }
  static void block_barrier(BlockCheck& block) {
    for (std::uint32_t warp = 0; warp < 2; ++warp) block.arrive(0, warp, ~0u);
    for (std::uint32_t warp = 0; warp < 2; ++warp) block.leave(0, warp, ~0u);
    block.reset(0);
  }

  std::string found() const {
    std::string all;
    for (const Fault& each : x_faults) all += each.text + "\n";
    return all;
  }

  std::vector<std::byte*> x_parts;
  std::vector<Fault> x_faults;
  Shadow x_data{Shadow::Kind::symmetric, "data of rank 1", kData, 1, nullptr};
  Shadow x_flag{Shadow::Kind::symmetric, "flag of rank 1", kFlag, 1, nullptr};
  std::vector<std::unique_ptr<Checker>> x_checkers;
};

TEST_F(BlockCheckTest, RanksWithoutAnyOrderRace) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  read(*b);
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_EQ(x_faults[0].kind, Fault::Kind::race);
  EXPECT_NE(found().find("race between ranks at byte 0 of data of rank 1"), std::string::npos) << found();
  EXPECT_NE(found().find("rank 0, kernel k (a.cu:1), block (0,0,0), thread (0,0,0)"), std::string::npos) << found();
  EXPECT_NE(found().find("rank 1, kernel k (a.cu:2)"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, AReadAndALaterWriteRaceToo) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  read(*b);
  write(*a);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, SystemReleaseAndAcquireOrder) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  flag(*a, Kind::write, Order::release, Scope::sys, 3);
  flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
  read(*b);
  EXPECT_EQ(found(), "");
  write(*a, 0, 0, 4);  // after the release
  read(*b, 0, 0, 4);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, GpuScopeDoesNotReachAnotherRank) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  flag(*a, Kind::write, Order::release, Scope::gpu, 3);
  flag(*b, Kind::read, Order::acquire, Scope::gpu, 4);
  read(*b);
  EXPECT_NE(found().find("scope too narrow: a gpu-scope access meets one of another GPU"), std::string::npos) << found();
}

// Clusters of 2 x 2 in a grid of 4 x 2: blocks 0, 1, 4 and 5 are the first one.
TEST_F(BlockCheckTest, ClusterScopeReachesTheClusterAndNoFurther) {
  for (const std::uint64_t reader : {1, 5, 2}) {
    x_faults.clear();
    x_data.clear();
    x_flag.clear();
    const auto all = grid(1, {4, 2, 1}, {2, 2, 1});
    const auto a = block(all, 0), b = block(all, reader);
    write(*a);
    flag(*a, Kind::write, Order::release, Scope::cluster, 3);
    flag(*b, Kind::read, Order::acquire, Scope::cluster, 4);
    read(*b);
    if (reader != 2)
      EXPECT_EQ(found(), "") << reader;
    else
      EXPECT_NE(found().find("scope too narrow: a cluster-scope access meets one of another block"), std::string::npos) << found();
  }
}

TEST_F(BlockCheckTest, InputsAreNotToBeWrittenNorReadBeforeTheyAreThere) {
  Shadow input(Shadow::Kind::input, "A of rank 1", kData, 1, nullptr);
  const ClockPtr there = x_checkers[1]->open();
  const auto behind = block(grid(1, 1, there)), beside = block(grid(1, 1));
  access(*behind, input, Kind::read, 0, 0, 4, 1);
  EXPECT_EQ(found(), "");
  access(*beside, input, Kind::read, 0, 0, 4, 2);
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_EQ(x_faults[0].kind, Fault::Kind::race);
  EXPECT_NE(found().find("race with the start of the run: a read (op) by rank 1, kernel k (a.cu:2)"), std::string::npos) << found();
  { BlockCheck::Strong atomic(*behind, {.kind = Kind::update, .order = Order::relaxed, .place = 5, .bytes = 4}, &input, *behind, 16, 0); }
  ASSERT_EQ(x_faults.size(), 2u);
  EXPECT_EQ(x_faults[1].kind, Fault::Kind::input_written);
  x_faults.pop_back();
  access(*behind, input, Kind::write, 0, 3, 12, 3);
  ASSERT_EQ(x_faults.size(), 2u);
  EXPECT_EQ(x_faults[1].kind, Fault::Kind::input_written);
  EXPECT_NE(found().find("a write (op) by rank 1, kernel k (a.cu:3), block (0,0,0), thread (3,0,0) at byte 12 of A of rank 1"),
            std::string::npos)
      << found();
}

// Both store to the flag; what the first stored comes last.
TEST_F(BlockCheckTest, WhatBecomesVisibleLaterTellsLater) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  Announcement later;
  {
    BlockCheck::Strong strong(*a, {.kind = Kind::write, .order = Order::release, .scope = Scope::sys, .place = 3, .bytes = 4},
                              &x_flag, *a, 0, 0);
    later = strong.announce_later();
  }
  flag(*b, Kind::write, Order::release, Scope::sys, 5, 1);
  later.with([] {});
  flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
  read(*b);
  EXPECT_EQ(found(), "");
}

TEST_F(BlockCheckTest, WhatIsNotVisibleYetTellsNothing) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  {
    BlockCheck::Strong strong(*a, {.kind = Kind::write, .order = Order::release, .scope = Scope::sys, .place = 3, .bytes = 4},
                              &x_flag, *a, 0, 0);
    strong.announce_later();
  }
  flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
  read(*b);
  EXPECT_EQ(x_faults.size(), 1u);
}

// All that is said here takes more than the ledger holds, but little of it is in force at a time.
TEST_F(BlockCheckTest, WhatIsNoLongerSaidTakesNoRoom) {
  auto much = std::make_shared<Clock>();
  for (std::uint32_t i = 0; i < 4000; ++i) much->add_ended(1000 + 2 * i, 1001 + 2 * i);
  const auto a = block(grid(0, 1, much)), b = block(grid(1, 1));
  for (int i = 0; i < 10'000; ++i) {
    flag(*a, Kind::write, Order::release, Scope::sys, 3);
    flag(*a, Kind::read, Order::acquire, Scope::sys, 3);
    flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
    flag(*b, Kind::write, Order::release, Scope::sys, 5);
  }
  EXPECT_EQ(x_checkers[0]->ledger().why_stopped(), "");
  write(*a);
  read(*b);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, GpuScopeReachesAnotherBlock) {
  const auto g = grid(0, 2);
  const auto a = block(g, 0), b = block(g, 1);
  write(*a);
  flag(*a, Kind::write, Order::release, Scope::gpu, 3);
  flag(*b, Kind::read, Order::acquire, Scope::gpu, 4);
  read(*b);
  EXPECT_EQ(found(), "");
}

TEST_F(BlockCheckTest, RelaxedFlagsNeedFencesOnBothSides) {
  for (const bool first : {false, true})
    for (const bool second : {false, true}) {
      x_faults.clear();
      const auto a = block(grid(0, 1)), b = block(grid(1, 1));
      const std::uint64_t offset = (first ? 8 : 0) + (second ? 4 : 0);
      const std::uint32_t line = 10 + static_cast<std::uint32_t>(offset);
      access(*a, x_data, Kind::write, 0, 0, offset, line);
      if (first) a->fence(0, 1, Scope::sys, 5);
      flag(*a, Kind::write, Order::relaxed, Scope::sys, 3);
      flag(*b, Kind::read, Order::relaxed, Scope::sys, 4);
      if (second) b->fence(0, 1, Scope::sys, 6);
      access(*b, x_data, Kind::read, 0, 0, offset, line + 1);
      EXPECT_EQ(x_faults.empty(), first && second) << first << second << found();
      if (first && second) continue;
      const char* const cause = first ? "flag without acquire" : "flag without release/acquire";
      EXPECT_NE(found().find(cause), std::string::npos) << found();
    }
}

TEST_F(BlockCheckTest, AReadersFenceMustIncludeTheWriter) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a);
  a->fence(0, 1, Scope::sys, 5);
  flag(*a, Kind::write, Order::relaxed, Scope::sys, 3);
  flag(*b, Kind::read, Order::relaxed, Scope::sys, 4);
  b->fence(0, 1, Scope::cta, 6);
  read(*b);
  EXPECT_NE(found().find("the reader's fence scope (cta, a.cu:6) does not include the writer"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, ABlockBarrierMakesOneThreadsReleaseSpeakForAll) {
  for (const bool barrier : {false, true}) {
    x_faults.clear();
    const auto a = block(grid(0, 1)), b = block(grid(1, 1));
    access(*a, x_data, Kind::write, 1, 7, barrier ? 16 : 12, barrier ? 20 : 22);
    if (barrier) block_barrier(*a);
    flag(*a, Kind::write, Order::release, Scope::sys, 3);
    flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
    block_barrier(*b);
    access(*b, x_data, Kind::read, 1, 9, barrier ? 16 : 12, barrier ? 21 : 23);
    EXPECT_EQ(x_faults.empty(), barrier) << found();
    EXPECT_EQ(found().find("thread (39,0,0)") == std::string::npos, barrier) << found();
  }
}

TEST_F(BlockCheckTest, FencesOfAllThreadsBeforeABarrierCoverARelaxedFlagBehindIt) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  write(*a, 1, 7);
  for (std::uint32_t warp = 0; warp < 2; ++warp) a->fence(warp, ~0u, Scope::sys, 5);
  block_barrier(*a);
  flag(*a, Kind::write, Order::relaxed, Scope::sys, 3);
  flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
  read(*b);
  EXPECT_EQ(found(), "");
}

TEST_F(BlockCheckTest, TheLastOfSeveralArrivingBlocksKnowsAll) {
  const auto g = grid(0, 3);
  std::vector<std::unique_ptr<BlockCheck>> blocks;
  for (std::uint64_t i = 0; i < 3; ++i) {
    blocks.push_back(block(g, i));
    write(*blocks.back(), 1, 3, 4 * i);
    block_barrier(*blocks.back());
    flag(*blocks.back(), Kind::update, Order::acq_rel, Scope::gpu, 3);
  }
  flag(*blocks[2], Kind::write, Order::release, Scope::sys, 5);
  const auto peer = block(grid(1, 1));
  flag(*peer, Kind::read, Order::acquire, Scope::sys, 4);
  for (std::uint64_t i = 0; i < 3; ++i) read(*peer, 0, 0, 4 * i);
  EXPECT_EQ(found(), "");
  // Without the atomic chain only the block that stored the flag is known.
  x_faults.clear();
  write(*blocks[0], 1, 3, 32);
  read(*peer, 0, 0, 32);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, WarpsOfABlockNeedABarrier) {
  const auto a = block(grid(0, 1));
  shared(*a, Kind::write, 0, 5, 8, 30);
  block_barrier(*a);
  shared(*a, Kind::read, 1, 2, 8, 31);
  EXPECT_EQ(found(), "");
  shared(*a, Kind::write, 0, 5, 8, 32);  // the reader may be later
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_NE(found().find("race within a block at byte 8 of shared memory"), std::string::npos) << found();
  EXPECT_NE(found().find("a.cu:31"), std::string::npos) << found();
  EXPECT_NE(found().find("a.cu:32"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, LanesOfAWarpNeedAWarpBarrier) {
  const auto a = block(grid(0, 1));
  shared(*a, Kind::write, 0, 5, 8, 30);
  a->warp_sync(0, ~0u);
  shared(*a, Kind::read, 0, 2, 8, 31);
  EXPECT_EQ(found(), "");
  shared(*a, Kind::write, 0, 6, 12, 32);
  a->warp_sync(0, 0xf);  // lane 6 is no member
  shared(*a, Kind::read, 0, 2, 12, 33);
  EXPECT_NE(found().find("race within a warp"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, UninitialisedSharedMemoryIsReported) {
  const auto a = block(grid(0, 1));
  shared(*a, Kind::peek, 0, 0, 40, 30);
  EXPECT_EQ(found(), "");
  shared(*a, Kind::read, 0, 0, 40, 30);
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_EQ(x_faults[0].kind, Fault::Kind::uninitialised);
}

TEST_F(BlockCheckTest, ScratchMemoryKeepsWhatItHoldsBetweenRuns) {
  Shadow scratch(Shadow::Kind::scratch, "cudaMalloc #1", 64, 0, nullptr);
  const auto a = block(grid(0, 1));
  access(*a, scratch, Kind::write, 0, 0, 4, 1);
  scratch.clear();
  const auto b = block(grid(0, 1));
  access(*b, scratch, Kind::read, 0, 0, 4, 2);
  EXPECT_EQ(found(), "");
  access(*b, scratch, Kind::read, 0, 0, 6, 3);  // half of it lies behind
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_NE(found().find("read of 4 bytes at byte 6 of cudaMalloc #1, which nothing has written"), std::string::npos);
}

TEST_F(BlockCheckTest, NeighbouringBytesAndHalvesAreApart) {
  const auto g = grid(0, 2);
  const auto a = block(g, 0), b = block(g, 1);
  access(*a, x_data, Kind::write, 0, 0, 0, 1, 1);
  access(*b, x_data, Kind::write, 0, 0, 1, 2, 1);
  access(*a, x_data, Kind::write, 0, 0, 4, 3, 2);
  access(*b, x_data, Kind::write, 0, 0, 6, 4, 2);
  EXPECT_EQ(found(), "");
  access(*b, x_data, Kind::write, 0, 0, 4, 5, 4);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, KernelsOfOneStreamAreOrderedAndOthersAreNot) {
  const auto first = grid(0, 1);
  const auto a = block(first);
  write(*a);
  a->exit(0, ~0u);
  a->exit(1, ~0u);
  a->finish();
  const auto b = block(grid(0, 1, first->finish()));
  read(*b);
  EXPECT_EQ(found(), "");
  const auto c = block(grid(0, 1));
  read(*c);
  EXPECT_NE(found().find("race between kernels of one rank"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, AKernelPassesOnWhatItsThreadsLearnt) {
  const auto peer = block(grid(1, 1));
  write(*peer);
  flag(*peer, Kind::write, Order::release, Scope::sys, 3);
  const auto first = grid(0, 1);
  const auto a = block(first);
  flag(*a, Kind::read, Order::acquire, Scope::sys, 4);
  a->exit(0, ~0u);
  a->exit(1, ~0u);
  a->finish();
  const auto b = block(grid(0, 1, first->finish()));
  read(*b, 1, 9);
  EXPECT_EQ(found(), "");
}

TEST_F(BlockCheckTest, AtomicsDoNotRaceWithEachOtherButWithPlainStores) {
  const auto a = block(grid(0, 1)), b = block(grid(1, 1));
  flag(*a, Kind::update, Order::relaxed, Scope::sys, 3);
  flag(*b, Kind::update, Order::relaxed, Scope::sys, 4);
  EXPECT_EQ(found(), "");
  access(*b, x_flag, Kind::write, 0, 0, 0, 5);
  EXPECT_NE(found().find("a write (op) by rank 0, kernel k (a.cu:3)"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, ManyReadersAreAllRemembered) {
  const auto g = grid(1, 9);
  std::vector<std::unique_ptr<BlockCheck>> readers;
  for (std::uint64_t i = 0; i < 9; ++i) {
    readers.push_back(block(g, i));
    access(*readers.back(), x_data, Kind::peek, 0, 0, 0, 40 + static_cast<std::uint32_t>(i));
  }
  const auto a = block(grid(0, 1));
  write(*a);
  EXPECT_EQ(x_faults.size(), 9u) << found();
}

TEST_F(BlockCheckTest, LateWritesToAnOutputAreFoundInTheEnd) {
  auto output = std::make_shared<Shadow>(Shadow::Kind::output, "output of rank 1", 64, 1, nullptr);
  x_checkers[1]->add(output);
  const auto a = block(grid(0, 1));
  access(*a, *output, Kind::write, 0, 0, 8, 1);
  flag(*a, Kind::write, Order::release, Scope::sys, 3);
  const auto mine = grid(1, 1);
  const auto b = block(mine);
  flag(*b, Kind::read, Order::acquire, Scope::sys, 4);
  b->exit(0, ~0u);
  b->exit(1, ~0u);
  b->finish();
  x_checkers[1]->review(mine->finish());
  EXPECT_EQ(found(), "");
  x_checkers[1]->review(empty_clock());
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_EQ(x_faults[0].kind, Fault::Kind::late_write);
}

// Of two grids of a rank, the second of which the end of the run does not know.
TEST_F(BlockCheckTest, WorkThatNothingJoinsToTheEndIsNamed) {
  const auto joined_grid = grid(1, 1), other = grid(1, 1);
  for (const auto& each : {joined_grid, other}) {
    const auto one = block(each);
    one->exit(0, ~0u);
    one->exit(1, ~0u);
    one->finish();
  }
  const ClockPtr end = joined_grid->finish(), all = joined(end, other->finish());
  const Ledger& ledger = x_checkers[1]->ledger();
  EXPECT_EQ(unjoined_work(ledger, *all, *all).size(), 0u);
  const std::vector<Fault> found = unjoined_work(ledger, *end, *all);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, Fault::Kind::race);
  // Work of setup is not of the run: nobody knows of it.
  EXPECT_EQ(unjoined_work(ledger, *end, *end).size(), 0u);
}

TEST_F(BlockCheckTest, AWaitForTheGridBeforeJoinsAllOfIt) {
  const auto first = grid(0, 1);
  const auto a = block(first);
  write(*a);
  a->exit(0, ~0u);
  a->exit(1, ~0u);
  a->finish();
  const auto b = block(grid(0, 1));  // launched early
  b->join(1, ~0u, first->finish());
  read(*b, 1, 0);
  EXPECT_EQ(found(), "");
  read(*b, 0, 0);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST_F(BlockCheckTest, AProductReadsWhatIsStoredFencedAndOrdered) {
  const auto read_operand = [](BlockCheck& block) { block.check_proxy({.warp = 0, .place = 2}, block, 0, 0, 16); };
  const auto fenced = block(grid(0, 1));
  shared(*fenced, Kind::write, 1, 0, 0, 1);
  fenced->proxy_fence(1, ~0u);
  block_barrier(*fenced);
  read_operand(*fenced);
  EXPECT_EQ(found(), "");
  const auto unordered = block(grid(0, 1));
  shared(*unordered, Kind::write, 1, 0, 0, 1);
  unordered->proxy_fence(1, ~0u);
  read_operand(*unordered);
  ASSERT_EQ(x_faults.size(), 1u);
  EXPECT_NE(found().find("a barrier is missing"), std::string::npos) << found();
}

TEST_F(BlockCheckTest, AProductReadsWhatACopyHasBrought) {
  const auto a = block(grid(0, 1));
  const auto issue = [&] {
    a->shared({.kind = Kind::write, .place = 1, .bytes = 16, .agent = kBulkWrites}, *a, check::Run{.bytes = 16});
    const std::uint32_t moment = a->moment();
    a->issued();
    return moment;
  };
  a->waited(0, 1, kBulkWrites, 0, issue());
  a->check_proxy({.warp = 0, .place = 2}, *a, 0, 0, 16);
  EXPECT_EQ(found(), "");
  issue();
  a->check_proxy({.warp = 0, .place = 2}, *a, 0, 0, 16);
  EXPECT_EQ(x_faults.size(), 1u);
}

TEST(Clock, SurvivesEncoding) {
  Clock clock;
  clock.add_ended(5, 9);
  clock.add_ended(9, 12);
  raise(clock.blocks, 3, 7);
  raise(clock.warps, 4 * kAgents + 33, 2);
  raise(clock.threads, thread_of(4, 1, 31), 9);
  EXPECT_EQ(Clock::decode(clock.encode()), clock);
  ASSERT_EQ(clock.ended.size(), 1u);
  EXPECT_TRUE(clock.knows(Stamp::of(thread_of(11, 0, 0), 1000)));
  EXPECT_FALSE(clock.knows(Stamp::of(thread_of(12, 0, 0), 1)));
  EXPECT_TRUE(clock.knows(Stamp::of(thread_of(3, 5, 1), 7)));
  EXPECT_FALSE(clock.knows(Stamp::of(thread_of(3, 33, 1), 7))) << "copies are known only by name";
  EXPECT_TRUE(clock.knows(Stamp::of(thread_of(4, 33, 1), 2)));
  EXPECT_FALSE(clock.knows(Stamp::of(thread_of(4, 1, 30), 9)));
  std::vector<std::uint32_t> cut = clock.encode();
  cut.pop_back();
  EXPECT_EQ(Clock::decode(cut), Clock());
}

}  // namespace
}  // namespace pkb::virtual_gpu::check
