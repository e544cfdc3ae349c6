// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

std::string fault_of(TestRun& run, std::uint64_t seed = 0) {
  return run.run(seed) == Block::Outcome::fault ? run.block().fault().text : "no fault";
}

// Thread 0 loads 1024 bytes, all 64 threads wait for them, change them, and thread 0 stores them behind.
TEST(BulkCopy, LoadsAndStoresWhatAnMbarrierAndAGroupAwait) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestRun run(kernel_text(R"(
      .shared .align 128 .b8 s[1024];
      .shared .align 8 .b64 bar;
      setp.ne.u32 %p1, %r0, 0;
      @%p1 bra ready;
      mbarrier.init.shared::cta.b64 [bar], 1;
      fence.mbarrier_init.release.cluster;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 1024;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%rd0], 512, [bar];
      cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [s+512], [%rd0+512], 512, [bar], %rd5;
      ready:
      bar.sync 0;
      wait:
      mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], 0;
      @!%p2 bra wait;
      mov.u32 %r1, s;
      shl.b32 %r2, %r0, 4;
      add.u32 %r3, %r1, %r2;
      ld.shared.v4.u32 {%r4, %r5, %r6, %r7}, [%r3];
      add.u32 %r4, %r4, 1;
      add.u32 %r5, %r5, 1;
      add.u32 %r6, %r6, 1;
      add.u32 %r7, %r7, 1;
      st.shared.v4.u32 [%r3], {%r4, %r5, %r6, %r7};
      fence.proxy.async.shared::cta;
      bar.sync 0;
      @%p1 bra end;
      cp.async.bulk.global.shared::cta.bulk_group [%rd0+1024], [s], 1024;
      cp.async.bulk.commit_group;
      cp.async.bulk.wait_group.read 0;
      mov.u32 %r8, 0;
      st.shared.u32 [s], %r8;
      cp.async.bulk.wait_group 0;
      ld.global.u32 %r9, [%rd0+1024];
      st.global.u32 [%rd0+2048], %r9;
      end:)"),
                64);
    for (std::uint32_t i = 0; i < 256; ++i) run.word(i) = 3 * i;
    ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t i = 0; i < 256; ++i) ASSERT_EQ(run.word(256 + i), 3 * i + 1) << seed;
    EXPECT_EQ(run.word(512), 1u);
    const Counters& counters = run.block().counters();
    EXPECT_EQ(counters.global_read, 1024u + 4);
    EXPECT_EQ(counters.global_written, 1024u + 4);
  }
}

// Broken twins: what is not waited for shows with some seed.
TEST(BulkCopy, IsLateWithSomeSeed) {
  const auto late = [](const char* wait) {
    for (std::uint64_t seed = 1; seed < 200; ++seed) {
      TestRun run(kernel_text(fmt::format(R"(
        .shared .align 128 .b8 s[16];
        mov.u32 %r1, 5;
        st.shared.u32 [s], %r1;
        cp.async.bulk.global.shared::cta.bulk_group [%rd0], [s], 16;
        cp.async.bulk.commit_group;
        {}
        mov.u32 %r2, 6;
        st.shared.u32 [s], %r2;
        ld.global.u32 %r3, [%rd0];
        st.global.u32 [%rd0+16], %r3;)",
                                          wait)),
                  1);
      EXPECT_EQ(run.run(seed), Block::Outcome::finished);
      if (run.word(0) != 5 || run.word(4) != 5) return std::string(run.word(0) != 5 ? "source" : "result");
    }
    return std::string("never");
  };
  EXPECT_EQ(late("cp.async.bulk.wait_group 0;"), "never");
  EXPECT_EQ(late("cp.async.bulk.wait_group.read 0;"), "result");
  EXPECT_EQ(late(""), "source");
}

struct Reduction {
  const char* name;  ///< operation and type
  std::uint32_t in_memory, operand, result;
};
class BulkReduction : public testing::TestWithParam<Reduction> {};

// Expected values by hand from the PTX descriptions of red.
TEST_P(BulkReduction, CombinesEveryElement) {
  const auto [name, in_memory, operand, result] = GetParam();
  TestRun run(kernel_text(fmt::format(R"(
    .shared .align 128 .b8 s[32];
    ld.global.u32 %r1, [%rd0+64];
    st.shared.v4.u32 [s], {{%r1, %r1, %r1, %r1}};
    cp.reduce.async.bulk.global.shared::cta.bulk_group.{} [%rd0], [s], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;)",
                                      name)),
              1);
  for (std::uint32_t i = 0; i < 5; ++i) run.word(i) = in_memory;
  run.word(16) = operand;
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(run.word(i), result);
  EXPECT_EQ(run.word(4), in_memory);
}

INSTANTIATE_TEST_SUITE_P(
    Of, BulkReduction,
    testing::Values(Reduction{"add.u32", 0xffffffff, 3, 2}, Reduction{"add.s32", 5, 0xfffffffe, 3},
                    Reduction{"min.s32", 0xfffffff0, 1, 0xfffffff0}, Reduction{"max.s32", 0xfffffff0, 1, 1},
                    Reduction{"min.u32", 0xfffffff0, 1, 1}, Reduction{"max.u32", 0xfffffff0, 1, 0xfffffff0},
                    Reduction{"inc.u32", 7, 7, 0}, Reduction{"inc.u32", 6, 7, 7},
                    Reduction{"dec.u32", 0, 7, 7}, Reduction{"dec.u32", 5, 7, 4},
                    Reduction{"and.b32", 0xf0f0, 0xff00, 0xf000}, Reduction{"or.b32", 0xf0f0, 0xff00, 0xfff0},
                    Reduction{"xor.b64", 0xf0f0, 0xff00, 0x0ff0},
                    Reduction{"add.f32", 0x3f800000, 0x40000000, 0x40400000},      // 1 + 2 = 3
                    Reduction{"add.f32", 0x00000001, 0x00000001, 0},               // subnormal numbers are flushed
                    Reduction{"add.noftz.f16", 0x3c014000, 0x40003c00, 0x42004200},  // 1.0009765625 + 2: a tie, to even
                    Reduction{"add.noftz.bf16", 0x3f804000, 0x40003f80, 0x40404040},
                    Reduction{"min.f16", 0x3c00c000, 0x40003c00, 0x3c00c000},
                    Reduction{"max.bf16", 0x3f80c000, 0x40003f80, 0x40003f80}),
    [](const auto& test) {
      std::string name = std::string(test.param.name) + "_" + std::to_string(test.index);
      std::replace(name.begin(), name.end(), '.', '_');
      return name;
    });

TEST(BulkReduction, CarriesWithin64Bits) {
  TestRun run(kernel_text(R"(
    .shared .align 128 .b8 s[16];
    mov.u64 %rd1, 1;
    st.shared.v2.u64 [s], {%rd1, %rd1};
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%rd0], [s], 16;)"),
              1);
  run.word(0) = 0xffffffff;
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  const std::uint32_t expected[] = {0, 1, 1, 0};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(run.word(i), expected[i]);
}

struct Refusal {
  const char* name;
  const char* statement;
  const char* text;
};
class BulkRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(BulkRefusal, IsAFault) {
  TestRun run(kernel_text(fmt::format(R"(
    .shared .align 128 .b8 s[128];
    .shared .align 8 .b64 bar;
    mbarrier.init.shared::cta.b64 [bar], 1;
    and.b64 %rd1, %rd0, -32;
    add.s64 %rd1, %rd1, 32;
    {})",
                                      GetParam().statement)),
              1);
  EXPECT_EQ(fault_of(run), GetParam().text);
}

#define LOAD "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
INSTANTIATE_TEST_SUITE_P(
    Of, BulkRefusal,
    testing::Values(
        Refusal{"Size", LOAD " [s], [%rd1], 24, [bar];", LOAD " of 24 bytes, which is not a multiple of 16"},
        Refusal{"Target", LOAD " [s+8], [%rd1], 16, [bar];", LOAD " with address 0x8, which is not a multiple of 16"},
        Refusal{"Mbarrier", LOAD " [s], [%rd1], 16, [bar+4];", LOAD " with address 0x84, which is not a multiple of 8"},
        Refusal{"BeyondShared", LOAD " [s+112], [%rd1], 48, [bar];",
                "write of 48 bytes at shared address 0x70, but the block has 144 bytes of shared memory"},
        Refusal{"NoMbarrier", LOAD " [s], [%rd1], 16, [s+64];",
                "mbarrier at shared address 0x40 is used before mbarrier.init, or was overwritten"},
        Refusal{"NoSuchBlock", LOAD ".multicast::cluster [s], [%rd1], 16, [bar], 3;", "multicast to block 1 of a cluster of 1"},
        Refusal{"Null", "mov.b64 %rd2, 0;\n" LOAD " [s], [%rd2], 16, [bar];", "read of 16 bytes at 0x0, a null pointer"}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace pkb::virtual_gpu
