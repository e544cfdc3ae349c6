// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

TEST(CopyAsync, MovesBytesAndFillsWithZeros) {
  TestRun run(kernel_text(R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s;
    shl.b32 %r2, %r0, 4;
    add.u32 %r3, %r1, %r2;
    cvt.u64.u32 %rd1, %r2;
    add.s64 %rd1, %rd0, %rd1;
    and.b32 %r4, %r0, 15;
    cp.async.cg.shared.global [%r3], [%rd1], 16;
    cp.async.ca.shared::cta.global.L2::128B [%r3+512], [%rd1], 16, %r4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r3];
    st.global.v4.u32 [%rd1+512], {%r10, %r11, %r12, %r13};
    ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [%r3+512];
    st.global.v4.u32 [%rd1+1024], {%r10, %r11, %r12, %r13};)"));
  for (std::uint32_t i = 0; i < 128; ++i) run.word(i) = 0x01010101u * (i + 1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < 128; ++i) {
    EXPECT_EQ(run.word(128 + i), 0x01010101u * (i + 1));
    const std::uint32_t read = i / 4 % 16,
                        before = 4 * (i % 4);  // bytes of this lane; of its words before this
    const std::uint32_t kept = read <= before ? 0 : read - before >= 4 ? 4 : read - before;
    const auto mask = static_cast<std::uint32_t>((1ull << 8 * kept) - 1);
    EXPECT_EQ(run.word(256 + i), (0x01010101u * (i + 1)) & mask) << i;
  }
}

TEST(CopyAsync, ReadsNothingOfSizeZero) {
  TestRun run(kernel_text(R"(
    .shared .align 16 .b8 s[16];
    mov.u64 %rd1, 64;
    mov.u32 %r1, 0;
    cp.async.ca.shared.global [s], [%rd1], 4, %r1;
    cp.async.wait_all;)"));
  EXPECT_EQ(run.run(), Block::Outcome::finished);
}

// Two warps pass through eight phases: a thread that left one early would see another warp's old value.
TEST(Mbarrier, PhasesOrderTheThreadsOfABlock) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    TestRun run(kernel_text(R"(
      .shared .align 8 .b64 bar;
      .shared .align 8 .b32 values[64];
      setp.ne.u32 %p1, %r0, 0;
      @%p1 bra ready;
      mbarrier.init.shared::cta.b64 [bar], 64;
      ready:
      bar.sync 0;
      mov.u32 %r1, values;
      shl.b32 %r2, %r0, 2;
      add.u32 %r3, %r1, %r2;
      xor.b32 %r4, %r2, 252;
      add.u32 %r4, %r1, %r4;
      mov.u32 %r5, 0;
      mov.u32 %r8, 0;
      phase:
      add.u32 %r6, %r5, %r0;
      st.shared.u32 [%r3], %r6;
      mbarrier.arrive.shared::cta.b64 %rd2, [bar];
      wait:
      mbarrier.try_wait.shared::cta.b64 %p2, [bar], %rd2;
      @!%p2 bra wait;
      ld.shared.u32 %r7, [%r4];
      add.u32 %r8, %r8, %r7;
      mbarrier.arrive.release.cta.shared::cta.b64 _, [bar];
      wait2:
      mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 1;
      @!%p2 bra wait2;
      add.u32 %r5, %r5, 1;
      setp.lt.u32 %p3, %r5, 8;
      @%p3 bra phase;
      mul.wide.u32 %rd1, %r0, 4;
      add.s64 %rd1, %rd0, %rd1;
      st.global.u32 [%rd1], %r8;)"),
                64);
    ASSERT_EQ(run.run(seed), Block::Outcome::finished);
    for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(run.word(i), 8 * (63 - i) + 28);
  }
}

/// One thread; result k of test_wait.parity 0 goes to word k.
std::string script(const std::string& statements) {
  std::string body = ".shared .align 8 .b64 bar;\n";
  int count = 0;
  for (std::size_t at = 0; at < statements.size();) {
    const std::size_t end = statements.find(';', at);
    const std::string statement = statements.substr(at, end - at);
    body += statement == "?" ? fmt::format(
                                   "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n"
                                   "selp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%rd0+{}], %r1;\n",
                                   4 * count++)
                             : statement + ";\n";
    at = end + 1;
  }
  return kernel_text(body);
}

TEST(Mbarrier, AwaitsArrivalsAndTransactions) {
  TestRun run(script("mbarrier.init.shared.b64 [bar], 2;?;"
                     "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 48;?;"
                     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;?;"
                     "mbarrier.arrive.shared.b64 %rd1, [bar];?;"
                     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 16;?;"
                     "cp.async.mbarrier.arrive.shared.b64 [bar];?;"
                     "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];?;"
                     "mbarrier.arrive.shared.b64 %rd1, [bar], 1;?;"
                     "mbarrier.inval.shared.b64 [bar];"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  const std::uint32_t expected[] = {0, 0, 0, 0, 1, 1, 1, 0};  // the last: phase 1 has completed, phase 2 runs
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(run.word(i), expected[i]) << i;
}

struct Misuse {
  const char* name;
  const char* statements;
  const char* text;
};
class MbarrierMisuse : public testing::TestWithParam<Misuse> {};

TEST_P(MbarrierMisuse, IsAFault) {
  TestRun run(script(GetParam().statements), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::invalid_instruction);
  EXPECT_EQ(run.block().fault().text, std::string("mbarrier at shared address 0x0 ") + GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(
    Of, MbarrierMisuse,
    testing::Values(
        Misuse{"CountZero", "mbarrier.init.shared.b64 [bar], 0;",
               "is initialised with count 0; it has to be 1 to 1048575"},
        Misuse{"CountTooLarge", "mbarrier.init.shared.b64 [bar], 1048576;",
               "is initialised with count 1048576; it has to be 1 to 1048575"},
        Misuse{"TooManyArrivals", "mbarrier.init.shared.b64 [bar], 2;mbarrier.arrive.shared.b64 _, [bar], 3;",
               "waits for 2 arrivals but gets 3"},
        Misuse{"NoArrivals", "mbarrier.init.shared.b64 [bar], 2;mbarrier.arrive.shared.b64 _, [bar], 0;",
               "gets an arrival with count 0"},
        Misuse{"NotInitialised", "mbarrier.arrive.shared.b64 _, [bar];",
               "is used before mbarrier.init, or was overwritten"},
        Misuse{"TestedNotInitialised", "?;", "is used before mbarrier.init, or was overwritten"},
        Misuse{"Overwritten", "mbarrier.init.shared.b64 [bar], 2;st.shared.u64 [bar], 5;?;",
               "is used before mbarrier.init, or was overwritten"},
        Misuse{"Invalidated", "mbarrier.init.shared.b64 [bar], 1;mbarrier.inval.shared.b64 [bar];?;",
               "is used after mbarrier.inval"},
        Misuse{"ParityOfTwo",
               "mbarrier.init.shared.b64 [bar], 1;mbarrier.test_wait.parity.shared.b64 %p1, [bar], 2;",
               "is tested for parity 2; it has to be 0 or 1"},
        Misuse{"TransactionOverflow",
               "mbarrier.init.shared.b64 [bar], 1;mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;"
               "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1;",
               "has 1048575 transaction bytes pending and gets 1: beyond 1048575"},
        Misuse{"CompletedByNoComplete",
               "mbarrier.init.shared.b64 [bar], 1;mbarrier.arrive.noComplete.shared.b64 %rd1, [bar], 1;",
               "completes its phase by an arrival with .noComplete"}),
    [](const auto& test) { return test.param.name; });

TEST(Mbarrier, OutsideSharedMemoryIsAFault) {
  TestRun run(kernel_text("mbarrier.init.b64 [%rd0], 1;"), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().text, fmt::format("mbarrier at {:#x}, which is not shared memory", run.address()));
}

TEST(Mbarrier, DroppedThreadsAreNotExpectedAgain) {
  TestRun run(script("mbarrier.init.shared.b64 [bar], 2;mbarrier.arrive_drop.shared.b64 %rd1, [bar];?;"
                     "mbarrier.arrive.shared.b64 _, [bar];?;"  // phase 0 is complete, 1 expects one arrival
                     "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar], 1;?;"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  const std::uint32_t expected[] = {0, 1, 0};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run.word(i), expected[i]) << i;
}

TEST(Mbarrier, StateTellsThePendingCount) {
  TestRun run(kernel_text(R"(
    .shared .align 8 .b64 bar;
    mbarrier.init.shared::cta.b64 [bar], 7;
    mbarrier.arrive.shared::cta.b64 %rd1, [bar], 2;
    mbarrier.arrive.noComplete.release.cta.shared::cta.b64 %rd2, [bar], 4;
    mbarrier.pending_count.b64 %r1, %rd1;
    mbarrier.pending_count.b64 %r2, %rd2;
    st.global.u32 [%rd0], %r1;
    st.global.u32 [%rd0+4], %r2;)"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  EXPECT_EQ(run.word(0), 7u);
  EXPECT_EQ(run.word(1), 5u);
}

// Copies of the first group are waited for, those of the second are not, whenever they are performed.
constexpr const char* kTwoGroups = R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s;
    shl.b32 %r2, %r0, 4;
    add.u32 %r3, %r1, %r2;
    cvt.u64.u32 %rd1, %r2;
    add.s64 %rd1, %rd0, %rd1;
    cp.async.cg.shared.global [%r3], [%rd1], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r3+512], [%rd1], 16;
    cp.async.commit_group;
    cp.async.wait_group {0};
    ld.shared.u32 %r4, [%r3];
    ld.shared.u32 %r5, [%r3+512];
    shl.b32 %r2, %r0, 2;
    cvt.u64.u32 %rd1, %r2;
    add.s64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1+512], %r4;
    st.global.u32 [%rd1+1024], %r5;)";

TEST(CopyAsync, GroupsAreDoneWhenWaitedFor) {
  bool late = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    for (const unsigned remain : {0, 1, 2}) {
      TestRun run(kernel_text(fmt::format(fmt::runtime(kTwoGroups), remain)));
      for (std::uint32_t i = 0; i < 128; ++i) run.word(i) = i + 1;
      ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
      for (std::uint32_t i = 0; i < 32; ++i) {
        if (remain < 2) {
          EXPECT_EQ(run.word(128 + i), 4 * i + 1);
        }
        if (remain < 1) {
          EXPECT_EQ(run.word(256 + i), 4 * i + 1);
        }
        late |= run.word(256 + i) != 4 * i + 1;
      }
    }
  EXPECT_TRUE(late) << "no schedule shows that a group was not waited for";
}

TEST(CopyAsync, IgnoredSourceIsNotReadAndFillsWithZeros) {
  TestRun run(kernel_text(R"(
    .shared .align 16 .b8 s[16];
    mov.u64 %rd1, 64;
    mov.u32 %r1, 7;
    st.shared.u32 [s+4], %r1;
    setp.eq.u32 %p1, %r0, 0;
    cp.async.ca.shared.global [s], [%rd1], 8, %p1;
    cp.async.wait_all;
    ld.shared.v2.u32 {%r2, %r3}, [s];
    st.global.v2.u32 [%rd0], {%r2, %r3};)"),
              1);
  run.word(0) = run.word(1) = 9;
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  EXPECT_EQ(run.word(0), 0u);
  EXPECT_EQ(run.word(1), 0u);
}

// The arrival of a thread's copies completes the phase, never before their bytes are there.
TEST(CopyAsync, ArrivesAtAnMbarrierWhenDone) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const bool counted : {false, true}) {
      TestRun run(kernel_text(fmt::format(R"(
        .shared .align 16 .b8 s[512];
        .shared .align 8 .b64 bar;
        setp.ne.u32 %p1, %r0, 0;
        @%p1 bra ready;
        mbarrier.init.shared::cta.b64 [bar], 32;
        ready:
        bar.warp.sync 0xffffffff;
        mov.u32 %r1, s;
        shl.b32 %r2, %r0, 4;
        add.u32 %r3, %r1, %r2;
        cvt.u64.u32 %rd1, %r2;
        add.s64 %rd1, %rd0, %rd1;
        cp.async.cg.shared.global [%r3], [%rd1], 16;
        cp.async.mbarrier.arrive{}.shared::cta.b64 [bar];
        {}
        wait:
        mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0, 1000;
        @!%p2 bra wait;
        xor.b32 %r2, %r2, 496;
        add.u32 %r3, %r1, %r2;
        ld.shared.u32 %r4, [%r3];
        st.global.u32 [%rd1+512], %r4;)",
                                          counted ? ".noinc" : "",
                                          counted ? "" : "mbarrier.arrive.shared::cta.b64 _, [bar];")));
      for (std::uint32_t i = 0; i < 128; ++i) run.word(i) = i + 1;
      ASSERT_EQ(run.run(seed), Block::Outcome::finished) << seed;
      for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(128 + 4 * i), 4 * (31 - i) + 1) << seed;
    }
}

}  // namespace
}  // namespace pkb::virtual_gpu
