// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/heap.h"

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

TEST(DeviceHeap, GivesDisjointRangesAndTakesThemBack) {
  constexpr std::uint64_t base = 1000, bytes = 4000;
  DeviceHeap heap(base, bytes);
  std::mt19937 bits(3);
  std::map<std::uint64_t, std::uint64_t> live;
  for (int round = 0; round < 2000; ++round) {
    if (live.empty() || bits() % 3 != 0) {
      const std::uint64_t wanted = bits() % 300, at = heap.allocate(wanted);
      if (at == 0) continue;
      EXPECT_EQ(at % 16, 0u);
      EXPECT_GE(at, base);
      EXPECT_LE(at + wanted, base + bytes);
      const auto [place, fresh] = live.emplace(at, std::max<std::uint64_t>(wanted, 1));
      ASSERT_TRUE(fresh);
      if (place != live.begin()) {
        EXPECT_LE(std::prev(place)->first + std::prev(place)->second, at);
      }
      if (std::next(place) != live.end()) {
        EXPECT_LE(at + wanted, std::next(place)->first);
      }
    } else {
      const auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(bits() % live.size()));
      EXPECT_TRUE(heap.release(victim->first));
      EXPECT_FALSE(heap.release(victim->first));
      live.erase(victim);
    }
  }
  for (const auto& [at, size] : live) EXPECT_TRUE(heap.release(at));
  EXPECT_NE(heap.allocate(bytes - 32), 0u);  // all in one piece again
  EXPECT_EQ(heap.allocate(1), 0u);
}

/// Every thread allocates 16 bytes, writes to them, and stores the pointer; `end` follows.
std::string allocating_kernel(const std::string& end) {
  std::string text = kernel_text(R"(
    {
      .param .b64 size;
      .param .b64 pointer;
      st.param.b64 [size], 16;
      call.uni (pointer), malloc, (size);
      ld.param.b64 %rd1, [pointer];
    }
    mul.wide.u32 %rd2, %r0, 8;
    add.s64 %rd2, %rd0, %rd2;
    st.global.u64 [%rd2], %rd1;
    setp.eq.u64 %p1, %rd1, 0;
    @%p1 ret;
    st.u32 [%rd1], %r0;
    bar.warp.sync -1;
    ld.u32 %r1, [%rd1];
    st.global.u32 [%rd2+512], %r1;
    )" + end);
  text.insert(text.find(".visible"), R"(.extern .func (.param .b64 out) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);
)");
  return text;
}

const char* const kFree = R"(
    {
      .param .b64 pointer;
      st.param.b64 [pointer], %rd1;
      call.uni free, (pointer);
    }
)";

/// A run with a heap of `bytes`.
struct HeapRun : TestRun {
  HeapRun(const std::string& text, std::uint32_t threads, std::size_t bytes)
      : TestRun(text, threads), x_heap(bytes) {
    const auto base = reinterpret_cast<std::uint64_t>(x_heap.data());
    memory().add({base, bytes, "heap", 0, false});
    launch().heap = std::make_shared<DeviceHeap>(base, bytes);
  }
  std::vector<std::byte> x_heap;
};

TEST(DeviceHeap, ThreadsAllocateAndFree) {
  HeapRun run(allocating_kernel(kFree), 64, 2048);
  EXPECT_TRUE(run.launch().kernel->allocates);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::size_t t = 0; t < 64; ++t) EXPECT_EQ(run.word(128 + 2 * t), t);
  EXPECT_NE(run.launch().heap->allocate(2000), 0u);
}

TEST(DeviceHeap, ReturnsNullWhenItIsFull) {
  HeapRun run(allocating_kernel(""), 64, 16 * 40);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  std::size_t got = 0;
  for (std::size_t t = 0; t < 64; ++t) got += run.quad(t) != 0;
  EXPECT_GE(got, 38u);
  EXPECT_LE(got, 39u);
}

TEST(DeviceHeap, FreeingTwiceIsAFault) {
  HeapRun run(allocating_kernel(std::string(kFree) + kFree), 1, 2048);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::illegal_address);
  EXPECT_NE(run.block().fault().text.find("which no malloc of device code returned"), std::string::npos);
}

TEST(DeviceHeap, WithoutOneMallocIsUnsupported) {
  TestRun run(allocating_kernel(""), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::unsupported);
}

}  // namespace
}  // namespace pkb::virtual_gpu
