// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/warp.h"

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

/// buffer[thread] = the value of a register
std::string store(const std::string& reg, const std::string& type = "u32") {
  return fmt::format("mul.wide.u32 %rd1, %r0, {};\nadd.s64 %rd1, %rd0, %rd1;\nst.global.{} [%rd1], {};\n",
                     type.ends_with("64") ? 8 : 4, type, reg);
}

TEST(Divergence, BothSidesOfAnIfRunAndMeetAgain) {
  TestRun run(kernel_text(R"(
    setp.lt.u32 %p1, %r0, 10;
    @%p1 bra small;
    add.u32 %r2, %r0, 1000;
    bra.uni join;
    small:
    mul.lo.u32 %r2, %r0, 3;
    join:
    activemask.b32 %r3;
    xor.b32 %r2, %r2, %r3;)" +
                          store("%r2")));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i) ^ ~0u, i < 10 ? 3 * i : i + 1000) << i;
}

TEST(Divergence, LoopsOfDifferentLengthConverge) {
  TestRun run(kernel_text(R"(
    mov.u32 %r2, 0;
    mov.u32 %r3, 0;
    loop:
    add.u32 %r2, %r2, %r3;
    add.u32 %r3, %r3, 1;
    setp.le.u32 %p1, %r3, %r0;
    @%p1 bra loop;
    activemask.b32 %r4;
    setp.ne.u32 %p2, %r4, -1;
    @%p2 mov.u32 %r2, 77777;)" +
                          store("%r2")));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), i * (i + 1) / 2) << i;
}

TEST(Divergence, SpinLockWithinAWarpIsFair) {
  TestRun run(kernel_text(R"(
    again:
    atom.global.acquire.gpu.cas.b32 %r2, [%rd0], 0, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra again;
    ld.global.u32 %r3, [%rd0+4];
    add.u32 %r3, %r3, %r0;
    st.global.u32 [%rd0+4], %r3;
    st.release.gpu.global.u32 [%rd0], 0;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(1), 31u * 32 / 2);
}

TEST(Divergence, LaneZeroMayWaitForLane31) {
  TestRun run(kernel_text(R"(
    setp.eq.u32 %p1, %r0, 31;
    @%p1 bra set;
    setp.ne.u32 %p2, %r0, 0;
    @%p2 bra done;
    wait:
    ld.acquire.gpu.global.u32 %r2, [%rd0];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra wait;
    st.global.u32 [%rd0+4], %r2;
    bra.uni done;
    set:
    st.release.gpu.global.u32 [%rd0], 5;
    done:)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(1), 5u);
}

TEST(Divergence, LanesWhoseGuardFailsKeepTheirValue) {
  TestRun run(kernel_text(R"(
    mov.u32 %r2, 7;
    and.b32 %r3, %r0, 1;
    setp.eq.u32 %p1, %r3, 0;
    @!%p1 mov.u32 %r2, 9;
    @%p1 add.f32 %f1, 0f3F800000, 0f40000000;)" +
                          store("%r2")));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), i % 2 == 0 ? 7u : 9u);
}

TEST(Divergence, ShuffleWaitsForAllItsMembers) {
  TestRun run(kernel_text(R"(
    setp.lt.u32 %p1, %r0, 16;
    mov.u32 %r2, %r0;
    @%p1 bra low;
    add.u32 %r2, %r0, 100;
    low:
    shfl.sync.bfly.b32 %r3|%p2, %r2, 31, 31, -1;)" +
                          store("%r3")));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), 31 - i < 16 ? 31 - i : 131 - i);
}

TEST(Divergence, IndexedBranchTakesEachLaneToItsTarget) {
  TestRun run(kernel_text(R"(
    and.b32 %r2, %r0, 3;
    ts: .branchtargets a, b, c, a;
    brx.idx %r2, ts;
    a: mov.u32 %r3, 10; bra done;
    b: mov.u32 %r3, 20; bra done;
    c: mov.u32 %r3, 30;
    done:)" + store("%r3")));
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  const std::uint32_t expected[] = {10, 20, 30, 10};
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), expected[i % 4]);
}

constexpr const char* kRecursive = R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 result) fib(.param .b32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.s32 %p1, %r1, 2;
  @%p1 bra small;
  add.s32 %r2, %r1, -1;
  { .param .b32 a; st.param.b32 [a+0], %r2; .param .b32 v; call.uni (v), fib, (a); ld.param.b32 %r3, [v+0]; }
  add.s32 %r4, %r1, -2;
  { .param .b32 a; st.param.b32 [a+0], %r4; .param .b32 v; call.uni (v), fib, (a); ld.param.b32 %r5, [v+0]; }
  add.s32 %r1, %r3, %r5;
  small:
  st.param.b32 [result+0], %r1;
  ret;
}
.visible .entry k(.param .u64 buffer)
{
  .reg .b32 %r<4>; .reg .b64 %rd<4>;
  ld.param.u64 %rd0, [buffer];
  mov.u32 %r0, %tid.x;
  { .param .b32 a; st.param.b32 [a+0], %r0; .param .b32 v; call.uni (v), fib, (a); ld.param.b32 %r1, [v+0]; }
  mul.wide.u32 %rd1, %r0, 4;
  add.s64 %rd1, %rd1, %rd0;
  st.global.u32 [%rd1], %r1;
  ret;
})";

TEST(Calls, DivergentRecursionReturnsToEachCaller) {
  TestRun run(kRecursive, 16);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  std::uint32_t a = 0, b = 1;
  for (std::uint32_t i = 0; i < 16; ++i) {
    EXPECT_EQ(run.word(i), a) << i;
    b += a;
    a = b - a;
  }
}

TEST(Barriers, ThreadsThatExitedCountAsArrived) {
  TestRun run(kernel_text(R"(
    setp.ge.u32 %p1, %r0, 70;
    @%p1 exit;
    atom.global.add.u32 %r2, [%rd0], 1;
    bar.sync 0;
    ld.global.u32 %r3, [%rd0];
    add.s64 %rd0, %rd0, 4;)" +
                          store("%r3")),
              96);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 70; ++i) EXPECT_EQ(run.word(1 + i), 70u);
  EXPECT_EQ(run.word(1 + 70), 0u);
}

TEST(Barriers, NamedBarriersCountWarps) {
  TestRun run(kernel_text(R"(
    .shared .align 4 .b8 box[4];
    shr.u32 %r1, %r0, 5;
    setp.eq.u32 %p1, %r1, 2;
    @%p1 bra bystander;
    setp.eq.u32 %p2, %r1, 1;
    @%p2 bra consumer;
    mov.u32 %r2, box;
    st.shared.u32 [%r2], 42;
    bar.arrive 3, 64;
    bra.uni bystander;
    consumer:
    bar.sync 3, 64;
    ld.shared.u32 %r3, [box];
    st.global.u32 [%rd0], %r3;
    bystander:)"),
              96);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(0), 42u);
}

TEST(Barriers, ReductionsReachEveryThread) {
  TestRun run(kernel_text(R"(
    setp.lt.u32 %p1, %r0, 40;
    bar.red.popc.u32 %r2, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, %p1;
    selp.u32 %r3, 1000, 0, %p2;
    selp.u32 %r4, 100, 0, %p3;
    add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4;)" +
                          store("%r2")),
              64);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(run.word(i), 140u);
}

TEST(Barriers, WaitingForNobodyIsAFault) {
  TestRun run(kernel_text("bar.sync 1, 64;"), 32);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::barrier_divergence);
  EXPECT_EQ(to_string(run.block().fault()),
            "kernel k, block (0,0,0), thread (0,0,0): no thread of the block can go on: 32 threads wait at "
            "barrier 1");
}

constexpr const char* kPoll = R"(
  wait:
  ld.volatile.global.u32 %r2, [%rd0];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra wait;
  st.global.u32 [%rd0+4], %r2;)";

TEST(Polling, IsReportedUntilMemoryChanges) {
  TestRun run(kernel_text(kPoll), 64);
  EXPECT_EQ(run.block().run(100000), Block::Outcome::polling);
  EXPECT_EQ(run.block().run(100000), Block::Outcome::polling);
  EXPECT_LT(run.block().counters().warp_instructions, 2000u);  // it gives up early, and asks again cheaply
  EXPECT_EQ(run.block().waits(), std::vector<std::string>{"64 threads poll"});
  run.word(0) = 3;
  EXPECT_EQ(run.block().run(100000), Block::Outcome::finished);
  EXPECT_EQ(run.word(1), 3u);
}

TEST(Polling, ThreadsAtABarrierBesidePollingOnes) {
  TestRun run(
      kernel_text(std::string("setp.ge.u32 %p2, %r0, 32;\n@%p2 bra meet;") + kPoll + "meet:\nbar.sync 0;"),
      64);
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_EQ(run.block().waits(),
            (std::vector<std::string>{"32 threads poll", "32 threads wait at barrier 0"}));
  run.word(0) = 3;
  EXPECT_EQ(run.run(), Block::Outcome::finished);
}

TEST(Polling, CasLoopsAndSleepsPollToo) {
  TestRun run(kernel_text(R"(
    wait:
    nanosleep.u32 100;
    membar.sys;
    atom.global.cas.b32 %r2, [%rd0], 1, 2;
    setp.ne.u32 %p1, %r2, 1;
    @%p1 bra wait;)"),
              1);
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  run.word(0) = 1;
  EXPECT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(0), 2u);
}

TEST(Polling, CountingWritingAndClocksAreNot) {
  for (const char* body : {"add.u32 %r3, %r3, 1;", "st.global.u32 [%rd0+8], 0;",
                           "atom.global.add.u32 %r4, [%rd0+8], 1;", "mov.u64 %rd5, %clock64;"}) {
    TestRun run(
        kernel_text(fmt::format("wait:\n{}\nld.volatile.global.u32 %r2, [%rd0];\nsetp.eq.u32 %p1, %r2, 0;\n"
                                "@%p1 bra wait;\nst.global.u32 [%rd0+4], %r3;",
                                body)));
    EXPECT_EQ(run.block().run(100000), Block::Outcome::budget) << body;
    run.word(0) = 1;
    EXPECT_EQ(run.run(), Block::Outcome::finished) << body;
  }
}

TEST(Polling, DivergedThreadsPollTogether) {
  TestRun run(kernel_text(R"(
    setp.lt.u32 %p2, %r0, 5;
    @%p2 bra second;
    first:
    ld.volatile.global.u32 %r2, [%rd0];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra first;
    bra done;
    second:
    ld.volatile.global.u32 %r2, [%rd0+4];
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra second;
    done:)"));
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  run.word(1) = 1;
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  run.word(0) = 1;
  EXPECT_EQ(run.run(), Block::Outcome::finished);
}

TEST(Seeds, ShuffledSchedulesGiveTheSameSums) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    TestRun run(kernel_text(R"(
      .shared .align 4 .b8 cells[512];
      shl.b32 %r1, %r0, 2;
      mov.u32 %r2, cells;
      add.u32 %r3, %r2, %r1;
      st.shared.u32 [%r3], %r0;
      bar.sync 0;
      xor.b32 %r1, %r1, 508;
      add.u32 %r3, %r2, %r1;
      ld.shared.u32 %r4, [%r3];)" +
                            store("%r4")),
                128);
    ASSERT_EQ(run.run(seed), Block::Outcome::finished);
    for (std::uint32_t i = 0; i < 128; ++i) EXPECT_EQ(run.word(i), 127 - i);
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu
