// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/warp.h"

#include <gmock/gmock.h>
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

std::vector<std::string> waits(TestRun& run) {
  std::vector<std::string> lines;
  for (const Wait& wait : run.block().waits(10000)) lines.push_back(to_string(wait));
  return lines;
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

TEST(Barriers, AlignedOnesNeedTheWholeWarp) {
  constexpr const char* kSplit = R"(
    and.b32 %r1, %r0, 31;
    setp.lt.u32 %p1, %r1, 12;
    @%p1 bra few;
    {0} 0;
    bra.uni done;
    few:
    {0} 0;
    done:)";
  for (const std::uint32_t threads : {32, 50, 256}) {
    for (const char* aligned : {"bar.sync", "barrier.sync.aligned", "bar.cta.sync"}) {
      TestRun run(kernel_text(fmt::format(kSplit, aligned)), threads);
      ASSERT_EQ(run.run(), Block::Outcome::fault) << aligned;
      EXPECT_EQ(run.block().fault().kind, Fault::Kind::barrier_divergence);
      EXPECT_THAT(run.block().fault().text,
                  testing::AllOf(testing::StartsWith("the threads of a warp have diverged and wait for each other: "),
                                 testing::HasSubstr(" threads wait in ")));
    }
    TestRun each(kernel_text(fmt::format(kSplit, "barrier.sync")), threads);
    EXPECT_EQ(each.run(), Block::Outcome::finished) << threads;
  }
}

// Some threads of a warp come to the instruction in `body`; what the others do instead decides.
struct Passing {
  const char* name;
  const char* body;  // 32 threads; %p1: those below 12
  bool allowed;
};
class PassingBy : public testing::TestWithParam<Passing> {};

TEST_P(PassingBy, IsAFaultWhenTheyGoOnBehindIt) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    TestRun run(kernel_text(std::string("setp.lt.u32 %p1, %r0, 12;\n") + GetParam().body));
    if (GetParam().allowed) {
      EXPECT_EQ(run.run(seed), Block::Outcome::finished);
      continue;
    }
    ASSERT_EQ(run.run(seed), Block::Outcome::fault);
    EXPECT_EQ(run.block().fault().kind, Fault::Kind::barrier_divergence);
    EXPECT_THAT(run.block().fault().text,
                testing::AllOf(testing::StartsWith("the threads of a warp have diverged and some end past where the "
                                                   "others wait for them: "),
                               testing::HasSubstr("12 threads wait in ")));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Of, PassingBy,
    testing::Values(
        Passing{"ArmOfABranch", "@!%p1 bra join;\nbar.sync 0;\njoin:\nst.global.u32 [%rd0], 1;", false},
        Passing{"LongArm", "@!%p1 bra join;\nst.global.u32 [%rd0], 1;\nbarrier.sync.aligned 0;\njoin:\n"
                           "mul.lo.u32 %r1, %r0, 4;\nst.global.u32 [%rd0+4], %r1;", false},
        Passing{"MoreRoundsOfALoop",
                "selp.u32 %r1, 3, 1, %p1;\nround:\nbar.sync 0;\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 0;\n"
                "@%p2 bra round;\nst.global.u32 [%rd0], %r1;", false},
        Passing{"ShuffleOfAll",
                "@!%p1 bra join;\nshfl.sync.idx.b32 %r2, %r0, 0, 31, -1;\njoin:\nst.global.u32 [%rd0], %r2;", false},
        Passing{"OnTheWayThere",
                "mov.u32 %r1, 5000;\n@!%p1 bra join;\nround:\nsub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra round;\n"
                "join:\nst.global.u32 [%rd0], 1;\nbar.sync 0;\nst.global.u32 [%rd0+4], 1;\n@%p1 bra out;\n"
                "st.global.u32 [%rd0+8], 1;\nout:", true},
        Passing{"ThoseWhoLeave", "@!%p1 bra out;\nbar.sync 0;\nst.global.u32 [%rd0], 1;\nout:", true},
        Passing{"ThoseWhoWorkAndLeave",
                "@%p1 bra some;\nst.global.u32 [%rd0], 2;\nret;\nsome:\nbar.sync 0;\nst.global.u32 [%rd0+4], 1;", true},
        Passing{"ShuffleOfThosePresent",
                "@!%p1 bra join;\nshfl.sync.idx.b32 %r2, %r0, 0, 31, 0xfff;\njoin:\nst.global.u32 [%rd0], %r2;", true},
        Passing{"LoopAroundBoth",
                "mov.u32 %r1, 3;\nround:\n@%p1 bra few;\nst.global.u32 [%rd0], 1;\nfew:\nbar.sync 0;\n"
                "sub.u32 %r1, %r1, 1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra round;", true}),
    [](const auto& test) { return test.param.name; });

TEST(Barriers, ADivergedWarpGathersAtAnAlignedOne) {
  // One lane leaves, one comes late, and the other warp waits meanwhile.
  TestRun run(kernel_text(R"(
    setp.eq.u32 %p1, %r0, 3;
    @%p1 exit;
    setp.ne.u32 %p2, %r0, 5;
    @%p2 bra meet;
    mov.u32 %r1, 40;
    late:
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p3, %r1, 0;
    @%p3 bra late;
    st.global.u32 [%rd0], 7;
    meet:
    bar.sync 0;
    ld.global.u32 %r2, [%rd0];
    add.s64 %rd0, %rd0, 4;)" + store("%r2")),
              64);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(run.word(1 + i), i == 3 ? 0u : 7u) << i;
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
  EXPECT_EQ(waits(run), std::vector<std::string>{"64 threads poll buffer[0], which is 0, until it is != 0"});
  run.word(0) = 3;
  EXPECT_EQ(run.block().run(100000), Block::Outcome::finished);
  EXPECT_EQ(run.word(1), 3u);
}

TEST(Polling, ThreadsAtABarrierBesidePollingOnes) {
  TestRun run(
      kernel_text(std::string("setp.ge.u32 %p2, %r0, 32;\n@%p2 bra meet;") + kPoll + "meet:\nbar.sync 0;"),
      64);
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_EQ(waits(run), (std::vector<std::string>{"32 threads poll buffer[0], which is 0, until it is != 0",
                                                  "32 threads wait at barrier 0"}));
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

TEST(Polling, IsSeenAcrossCallFrames) {
  // Even lanes poll in a function, to which they give an address through memory; odd ones poll beside it.
  TestRun run(R"(.version 9.0
.target sm_90a
.address_size 64
.func (.param .b32 value) look(.param .b64 at)
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
  ld.param.u64 %rd1, [at];
  ld.volatile.global.u32 %r1, [%rd1];
  st.param.b32 [value], %r1;
  ret;
}
.visible .entry k(.param .u64 buffer)
{
  .reg .b32 %r<4>; .reg .b64 %rd<2>; .reg .pred %p<3>;
  ld.param.u64 %rd0, [buffer];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra odd;
  even:
  { .param .b64 a; st.param.b64 [a], %rd0; .param .b32 v; call.uni (v), look, (a); ld.param.b32 %r2, [v]; }
  setp.lt.u32 %p2, %r2, 3;
  @%p2 bra even;
  bra done;
  odd:
  ld.volatile.global.u32 %r2, [%rd0+8];
  setp.ne.s32 %p2, %r2, 3;
  @%p2 bra odd;
  done:
  ret;
})");
  run.word(2) = 4;
  EXPECT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_THAT(waits(run), testing::UnorderedElementsAre(
                              "16 threads poll buffer[0], which is 0",
                              "16 threads poll buffer[2], which is 4, until it is == 3: that value has passed by"));
  run.word(0) = run.word(2) = 3;
  EXPECT_EQ(run.run(), Block::Outcome::finished);
}

struct Explanation {
  const char* name;
  const char* loop;
  const char* text;
};
class ExplainedPolling : public testing::TestWithParam<Explanation> {};

TEST_P(ExplainedPolling, SaysWhatIsMissing) {
  TestRun run(kernel_text(std::string(".shared .align 16 .b8 sh[64];\nmul.wide.u32 %rd9, %r0, 4;\n"
                                      "add.s64 %rd1, %rd0, %rd9;\nmov.u32 %r9, 3;\nmov.u32 %r8, sh;\n") +
                          GetParam().loop),
              4);
  run.word(0) = run.word(1) = run.word(3) = 2;
  run.word(2) = 7;
  ASSERT_EQ(run.run(), Block::Outcome::polling);
  EXPECT_EQ(fmt::format("{}", fmt::join(waits(run), "; ")), GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Polling, ExplainedPolling,
    testing::Values(
        Explanation{"ABoundInARegister", "w: ld.acquire.sys.global.u32 %r1, [%rd0];\nsetp.lt.u32 %p1, %r1, %r9;\n@%p1 bra w;",
                    "4 threads poll buffer[0], which is 2, until it is >= 3"},
        Explanation{"ABreakOutOfTheLoop",
                    "w: ld.volatile.global.u32 %r1, [%rd0];\nsetp.eq.s32 %p1, %r1, -1;\n@%p1 bra d;\nnanosleep.u32 "
                    "20;\nbra w;\nd:",
                    "4 threads poll buffer[0], which is 2, until it is == -1"},
        Explanation{"ANegatedGuardAndTheLoadSecond",
                    "w: ld.volatile.global.u32 %r1, [%rd0];\nsetp.le.u32 %p1, %r9, %r1;\n@!%p1 bra w;",
                    "4 threads poll buffer[0], which is 2, until it is >= 3"},
        Explanation{"AnAddressForEachThread",
                    "w: ld.volatile.global.u32 %r1, [%rd1];\nsetp.ne.u32 %p1, %r1, 9;\n@%p1 bra w;",
                    "3 threads poll buffer[0, 1, 3], which is 2, until it is == 9; 1 thread polls buffer[2], which is 7, until it is == 9"},
        Explanation{"ALock", "w: atom.global.cas.b32 %r1, [%rd0], 0, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra w;",
                    "4 threads poll buffer[0], which is 2, until it is == 0"},
        Explanation{"AWideValueThroughAMove",
                    "w: ld.volatile.global.u64 %rd2, [%rd0];\nmov.u64 %rd3, %rd2;\nsetp.ne.s64 %p1, %rd3, 0;\n@%p1 bra w;",
                    "4 threads poll buffer[0], which is 8589934594, until it is == 0"},
        Explanation{"SharedMemory", "w: ld.volatile.shared.u32 %r1, [%r8+8];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra w;",
                    "4 threads poll shared memory[2], which is 0, until it is != 0"},
        Explanation{"SharedMemoryByAGenericAddress",
                    "cvt.u64.u32 %rd4, %r8;\ncvta.shared.u64 %rd4, %rd4;\nw: ld.volatile.u32 %r1, [%rd4+8];\n"
                    "setp.eq.u32 %p1, %r1, 0;\n@%p1 bra w;",
                    "4 threads poll shared memory[2], which is 0, until it is != 0"},
        Explanation{"SomethingComputed",
                    "w: ld.volatile.global.u32 %r1, [%rd0];\nand.b32 %r1, %r1, 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra w;",
                    "4 threads poll buffer[0], which is 2"}),
    [](const auto& test) { return test.param.name; });

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
