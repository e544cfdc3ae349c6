// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

/// One cluster of `size` blocks, which is the whole grid.
struct ClusterRun : TestRun {
  ClusterRun(const Dim3& size, const std::string& body, std::uint32_t threads = 32)
      : TestRun(kernel_text(body), threads) {
    launch().grid = launch().cluster = size;
  }
};

std::string fault_of(TestRun& run) {
  return run.run() == Block::Outcome::fault ? run.block().fault().text : "no fault";
}

TEST(Cluster, NumbersItsBlocks) {
  ClusterRun run({2, 3, 1}, R"(
    mov.u32 %r1, %cluster_ctarank;
    shl.b32 %r2, %r1, 5;
    cvt.u64.u32 %rd1, %r2;
    add.s64 %rd1, %rd0, %rd1;
    mov.u32 %r3, %cluster_ctaid.x;
    mov.u32 %r4, %cluster_ctaid.y;
    mov.u32 %r5, %cluster_nctarank;
    mov.u32 %r6, %cluster_nctaid.y;
    st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};
    mov.u32 %r3, %ctaid.x;
    mov.u32 %r4, %ctaid.y;
    mov.u32 %r5, %nclusterid.x;
    mov.u32 %r6, %clusterid.y;
    st.global.v4.u32 [%rd1+16], {%r3, %r4, %r5, %r6};)", 1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    const std::uint32_t expected[] = {rank % 2, rank / 2, 6, 3, rank % 2, rank / 2, 1, 0};
    for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(run.word(8 * rank + i), expected[i]) << rank << " " << i;
  }
}

// Every block writes into its right neighbour's memory, by a shared::cluster address; reads its left neighbour's, by
// a generic one; and adds to block 0's counter.
TEST(Cluster, SharesItsBlocksMemory) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    ClusterRun run({4, 1, 1}, R"(
      .shared .align 4 .b32 own;
      .shared .align 4 .b32 written;
      .shared .align 4 .b32 counter;
      mov.u32 %r1, %cluster_ctarank;
      mov.u32 %r2, counter;
      mov.u32 %r3, 0;
      st.shared.u32 [%r2], %r3;
      add.u32 %r4, %r1, 100;
      st.shared.u32 [own], %r4;
      barrier.cluster.arrive.release.aligned;
      barrier.cluster.wait.acquire.aligned;
      add.u32 %r5, %r1, 1;
      and.b32 %r5, %r5, 3;
      mov.u32 %r6, written;
      mapa.shared::cluster.u32 %r7, %r6, %r5;
      st.shared::cluster.u32 [%r7], %r1;
      getctarank.shared::cluster.u32 %r13, %r7;
      add.u32 %r8, %r1, 3;
      and.b32 %r8, %r8, 3;
      mov.u64 %rd1, own;
      cvta.shared.u64 %rd1, %rd1;
      mapa.u64 %rd2, %rd1, %r8;
      ld.u32 %r9, [%rd2];
      isspacep.shared::cta %p1, %rd2;
      isspacep.shared::cluster %p2, %rd2;
      isspacep.shared %p3, %rd1;
      selp.u32 %r14, 1, 0, %p1;
      selp.u32 %r15, 2, 0, %p2;
      selp.u32 %r16, 4, 0, %p3;
      add.u32 %r14, %r14, %r15;
      add.u32 %r14, %r14, %r16;
      mapa.shared::cluster.u32 %r10, %r2, 0;
      red.shared::cluster.add.u32 [%r10], %r5;
      atom.shared::cluster.add.u32 %r17, [%r10], 1;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      ld.shared.u32 %r11, [written];
      ld.shared::cluster.u32 %r12, [%r10];
      shl.b32 %r20, %r1, 5;
      cvt.u64.u32 %rd3, %r20;
      add.s64 %rd3, %rd0, %rd3;
      st.global.v4.u32 [%rd3], {%r9, %r11, %r12, %r13};
      st.global.u32 [%rd3+16], %r14;
      barrier.cluster.arrive.relaxed;
      barrier.cluster.wait;)", 1);
    ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const std::uint32_t left = (rank + 3) % 4, right = (rank + 1) % 4;
      const std::uint32_t expected[] = {100 + left, left, 6 + 4, right, 2 + 4};
      for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(run.word(8 * rank + i), expected[i]) << rank << " " << i;
    }
  }
}

// 64 threads of 2 blocks; without the barrier's wait some seed would read what is not written yet.
TEST(Cluster, BarrierHoldsAllWarps) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ClusterRun run({2, 1, 1}, R"(
      .shared .align 4 .b32 values[64];
      mov.u32 %r1, %cluster_ctarank;
      xor.b32 %r2, %r1, 1;
      mov.u32 %r3, values;
      shl.b32 %r4, %r0, 2;
      add.u32 %r3, %r3, %r4;
      mapa.shared::cluster.u32 %r5, %r3, %r2;
      mov.u32 %r6, 0;
      mov.u32 %r9, 0;
      again:
      add.u32 %r7, %r6, %r0;
      st.shared::cluster.u32 [%r5], %r7;
      barrier.cluster.arrive.release;
      add.u32 %r6, %r6, 1;
      barrier.cluster.wait.acquire;
      xor.b32 %r10, %r4, 252;
      mov.u32 %r11, values;
      add.u32 %r11, %r11, %r10;
      ld.shared.u32 %r8, [%r11];
      add.u32 %r9, %r9, %r8;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      setp.lt.u32 %p1, %r6, 4;
      @%p1 bra again;
      shl.b32 %r12, %r1, 8;
      add.u32 %r12, %r12, %r4;
      cvt.u64.u32 %rd1, %r12;
      add.s64 %rd1, %rd0, %rd1;
      st.global.u32 [%rd1], %r9;)", 64);
    ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t i = 0; i < 128; ++i) ASSERT_EQ(run.word(i), 4 * (63 - i % 64) + 6) << seed << " " << i;
  }
}

// The waiting thread of block 0 is released by the exit of block 1's only thread that has not arrived.
TEST(Cluster, ExitedThreadsDoNotHoldTheBarrier) {
  ClusterRun run({2, 1, 1}, R"(
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 exit;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    st.global.u32 [%rd0], 7;)", 1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  EXPECT_EQ(run.word(0), 7u);
}

TEST(Cluster, BarrierMisuseIsAFault) {
  ClusterRun twice({2, 1, 1}, "barrier.cluster.arrive;\nbarrier.cluster.arrive;");
  EXPECT_EQ(fault_of(twice), "barrier.cluster.arrive twice without barrier.cluster.wait between");
  ClusterRun never({2, 1, 1}, "barrier.cluster.wait;");
  EXPECT_EQ(fault_of(never), "barrier.cluster.wait without barrier.cluster.arrive before it");
}

TEST(Cluster, HangSaysWhereEveryBlockWaits) {
  ClusterRun run({2, 1, 1}, R"(
    mov.u32 %r1, %cluster_ctarank;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra other;
    barrier.cluster.arrive;
    barrier.cluster.wait;
    ret;
    other:
    bar.sync 1, 64;)");
  EXPECT_EQ(fault_of(run),
            "no thread of the cluster can go on: block (0,0,0) of the cluster: 32 threads wait at the barrier of "
            "the cluster; block (1,0,0) of the cluster: 32 threads wait at barrier 1");
}

TEST(Cluster, MemoryOfAnExitedBlockIsGone) {
  ClusterRun run({2, 1, 1}, R"(
    .shared .align 4 .b32 s;
    mov.u32 %r1, %cluster_ctarank;
    mov.u32 %r2, s;
    setp.eq.u32 %p1, %r1, 1;
    @%p1 bra other;
    ret;
    other:
    mapa.shared::cluster.u32 %r3, %r2, 0;
    st.shared::cluster.u32 [%r3], %r1;)", 1);
  EXPECT_EQ(fault_of(run), "write of 4 bytes at shared address 0x1000000, but block (0,0,0) of the cluster, whose "
                           "memory that is, has exited");
}

TEST(Cluster, HasNoBlockBeyondItsSize) {
  ClusterRun run({2, 1, 1}, "mov.u32 %r1, 0;\nmapa.shared::cluster.u32 %r3, %r1, 2;", 1);
  EXPECT_EQ(fault_of(run), "mapa to block 2 of a cluster of 2");
}

// Block 0 multicasts 32 bytes to blocks 1 and 2 of three; each awaits them at its own mbarrier. Then every block
// sends 16 bytes from shared memory to the next block's, and arrives at its mbarrier from afar.
TEST(Cluster, CopiesBetweenItsBlocks) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ClusterRun run({3, 1, 1}, R"(
      .shared .align 128 .b8 s[48];
      .shared .align 8 .b64 bar;
      mov.u32 %r1, %cluster_ctarank;
      mbarrier.init.shared::cta.b64 [bar], 1;
      fence.mbarrier_init.release.cluster;
      mov.u32 %r2, 0;
      st.shared.v4.u32 [s], {%r2, %r2, %r2, %r2};
      st.shared.v4.u32 [s+16], {%r2, %r2, %r2, %r2};
      barrier.cluster.arrive.release;
      barrier.cluster.wait.acquire;
      setp.eq.u32 %p1, %r1, 0;
      @!%p1 bra receive;
      mov.u16 %h1, 6;
      cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s], [%rd0], 32, [bar], %h1;
      bra next;
      receive:
      mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [bar], 32;
      wait:
      mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [bar], 0;
      @!%p2 bra wait;
      next:
      barrier.cluster.arrive;
      barrier.cluster.wait;
      selp.u32 %r9, 0, 1, %p1;
      add.u32 %r3, %r1, 1;
      setp.eq.u32 %p3, %r3, 3;
      selp.u32 %r3, 0, %r3, %p3;
      mov.u32 %r4, s;
      mapa.shared::cluster.u32 %r5, %r4, %r3;
      mov.u32 %r6, bar;
      mapa.shared::cluster.u32 %r7, %r6, %r3;
      st.shared.u32 [s+16], %r1;
      fence.proxy.async;
      mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%r7], 16;
      cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r5+32], [s+16], 16, [%r7];
      wait2:
      mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [bar], %r9;
      @!%p2 bra wait2;
      ld.shared.v4.u32 {%r10, %r11, %r12, %r13}, [s];
      ld.shared.v4.u32 {%r14, %r15, %r16, %r17}, [s+32];
      shl.b32 %r20, %r1, 5;
      cvt.u64.u32 %rd3, %r20;
      add.s64 %rd3, %rd0, %rd3;
      st.global.v4.u32 [%rd3+64], {%r10, %r11, %r12, %r13};
      st.global.v4.u32 [%rd3+80], {%r14, %r15, %r16, %r17};
      barrier.cluster.arrive;
      barrier.cluster.wait;)", 1);
    for (std::uint32_t i = 0; i < 8; ++i) run.word(i) = 10 + i;
    ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(run.word(16 + 8 * rank + i), rank == 0 ? 0 : 10 + i) << seed;
      const std::uint32_t left = (rank + 2) % 3;
      const std::uint32_t expected[] = {left, left == 0 ? 0u : 15u, left == 0 ? 0u : 16u, left == 0 ? 0u : 17u};
      for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(run.word(20 + 8 * rank + i), expected[i]) << seed << " " << rank;
    }
  }
}

// Block 0's four lanes store two words each into block 1's memory and add to a word there; block 1 awaits the bytes.
TEST(Cluster, StoresAsynchronously) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    ClusterRun run({2, 1, 1}, R"(
      .shared .align 16 .b8 s[48];
      .shared .align 8 .b64 bar;
      mov.u32 %r1, %cluster_ctarank;
      mov.u32 %r2, s;
      mov.u32 %r3, bar;
      setp.ne.u32 %p1, %r0, 0;
      @%p1 bra ready;
      mbarrier.init.shared::cta.b64 [bar], 1;
      mov.u32 %r4, 5;
      st.shared.u32 [s+32], %r4;
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 48;
      ready:
      barrier.cluster.arrive;
      barrier.cluster.wait;
      setp.eq.u32 %p2, %r1, 1;
      @%p2 bra receive;
      shl.b32 %r5, %r0, 3;
      add.u32 %r5, %r5, %r2;
      mapa.shared::cluster.u32 %r6, %r5, 1;
      mapa.shared::cluster.u32 %r7, %r3, 1;
      add.u32 %r8, %r0, 100;
      st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r6], {%r0, %r8}, [%r7];
      mov.u64 %rd1, s;
      cvta.shared.u64 %rd1, %rd1;
      mapa.u64 %rd2, %rd1, 1;
      mov.u64 %rd3, bar;
      cvta.shared.u64 %rd3, %rd3;
      mapa.u64 %rd4, %rd3, 1;
      red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32 [%rd2+32], %r8, [%rd4];
      bra end;
      receive:
      mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [bar], 0;
      @!%p3 bra receive;
      shl.b32 %r5, %r0, 3;
      add.u32 %r6, %r5, %r2;
      ld.shared.v2.u32 {%r10, %r11}, [%r6];
      cvt.u64.u32 %rd1, %r5;
      add.s64 %rd1, %rd0, %rd1;
      st.global.v2.u32 [%rd1], {%r10, %r11};
      ld.shared.u32 %r12, [s+32];
      st.global.u32 [%rd0+64], %r12;
      end:
      barrier.cluster.arrive;
      barrier.cluster.wait;)", 4);
    ASSERT_EQ(run.run(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t i = 0; i < 4; ++i) {
      EXPECT_EQ(run.word(2 * i), i);
      EXPECT_EQ(run.word(2 * i + 1), i + 100);
    }
    EXPECT_EQ(run.word(16), 5u + 100 + 101 + 102 + 103);
  }
}

TEST(Cluster, ExplicitOnesKnowIt) {
  for (const bool is_explicit : {false, true}) {
    ClusterRun run({1, 1, 1}, R"(
      mov.pred %p1, %is_explicit_cluster;
      selp.u32 %r1, 7, 8, %p1;
      st.global.u32 [%rd0], %r1;)", 1);
    run.launch().explicit_cluster = is_explicit;
    ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
    EXPECT_EQ(run.word(0), is_explicit ? 7u : 8u);
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu
