// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/exec.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

std::string fault_of(TestRun& run) {
  return run.run() == Block::Outcome::fault ? run.block().fault().text : "no fault";
}
std::string hex(std::uint64_t value) { return fmt::format("{:#x}", value); }

TEST(Faults, OutOfBoundsNamesThreadAddressAndNearestAllocation) {
  TestRun run(
      kernel_text("mul.wide.u32 %rd1, %r0, 8;\nadd.s64 %rd1, %rd0, %rd1;\nst.global.u32 [%rd1+16], %r0;"), 32,
      32);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  const Fault& fault = run.block().fault();
  EXPECT_EQ(fault.kind, Fault::Kind::illegal_address);
  EXPECT_EQ(fault.thread.x, 14u);  // 14 * 8 + 16 = 128, the size of the buffer
  EXPECT_EQ(fault.address, run.address() + 128);
  EXPECT_EQ(to_string(fault), "kernel k, block (0,0,0), thread (14,0,0): write of 4 bytes at " +
                                  hex(run.address() + 128) + ", 0 bytes after the end of buffer (128 bytes)");
}

TEST(Faults, AccessThatOnlyBeginsInsideIsOutOfBounds) {
  TestRun run(kernel_text("ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd0+112];"), 1, 30);
  const std::uint64_t misaligned = run.address() + 112;
  const std::string text = fault_of(run);
  if (misaligned % 16 != 0)
    EXPECT_EQ(text, "read of 16 bytes at " + hex(misaligned) + ", which is not a multiple of 16");
  else
    EXPECT_EQ(text, "read of 16 bytes at " + hex(misaligned) +
                        ", 8 bytes of it beyond the end of buffer (120 bytes)");
}

TEST(Faults, Misaligned) {
  TestRun run(kernel_text("ld.global.u32 %r1, [%rd0+2];"), 1);
  EXPECT_EQ(fault_of(run), "read of 4 bytes at " + hex(run.address() + 2) + ", which is not a multiple of 4");
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::misaligned);
}

TEST(Faults, NullPointer) {
  TestRun run(kernel_text("mov.u64 %rd1, 0;\nld.u32 %r1, [%rd1+8];"), 1);
  EXPECT_EQ(fault_of(run), "read of 4 bytes at 0x8, a null pointer");
}

TEST(Faults, SharedMemory) {
  TestRun run(kernel_text(
      ".shared .align 4 .b8 s[64];\nmov.u32 %r1, s;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r1, %r1, %r2;\n"
      "st.shared.u32 [%r1], %r0;"));
  EXPECT_EQ(fault_of(run),
            "write of 4 bytes at shared address 0x40, but the block has 64 bytes of shared memory");
  EXPECT_EQ(run.block().fault().thread.x, 16u);
}

TEST(Faults, ConstantMemoryIsNotWritten) {
  TestRun run(kernel_text("ld.param.u64 %rd1, [other];\nst.global.u32 [%rd1], 1;"), 1);
  std::uint32_t table[4] = {};
  run.memory().add({reinterpret_cast<std::uint64_t>(table), sizeof table, "table", -1, true});
  run.set_parameters({run.address(), reinterpret_cast<std::uint64_t>(table)});
  EXPECT_EQ(fault_of(run), "write of 4 bytes at " + hex(reinterpret_cast<std::uint64_t>(table)) +
                               ", in table, which is constant");
}

TEST(Faults, TrapsAndLackingInstructionsCountOnlyWhenExecuted) {
  TestRun skipped(kernel_text("setp.gt.u32 %p1, %r0, 99;\n@%p1 trap;\n@%p1 frobnicate.u32 %r1, %r2;"));
  EXPECT_EQ(skipped.run(), Block::Outcome::finished);
  TestRun trapped(kernel_text("setp.eq.u32 %p1, %r0, 7;\n@%p1 trap;"));
  EXPECT_EQ(fault_of(trapped), "trap");
  EXPECT_EQ(trapped.block().fault().thread.x, 7u);
  TestRun lacking(kernel_text("frobnicate.u32 %r1, %r2;"));
  EXPECT_EQ(fault_of(lacking), "the virtual GPU lacks frobnicate.u32");
  EXPECT_EQ(lacking.block().fault().kind, Fault::Kind::unsupported);
}

TEST(Faults, LinesComeFromLoc) {
  TestRun run(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.file 1 \"a.cu\"\n.visible .entry _Z4demoPi(.param "
      ".u64 p)\n{\n"
      ".loc 1 12 3\ntrap;\nret;\n}\n",
      1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(to_string(run.block().fault()), "kernel demo (a.cu:12), block (0,0,0), thread (0,0,0): trap");
}

TEST(Memory, GenericAddressesReachEverySpace) {
  TestRun run(kernel_text(R"(
    .shared .align 8 .b8 s[256];
    .local .align 8 .b8 l[8];
    mov.u64 %rd1, s;
    cvta.shared.u64 %rd2, %rd1;
    mul.wide.u32 %rd3, %r0, 8;
    add.s64 %rd4, %rd2, %rd3;
    st.u64 [%rd4], %rd3;
    mov.u64 %rd5, l;
    cvta.local.u64 %rd6, %rd5;
    add.u32 %r1, %r0, 100;
    st.u32 [%rd6+4], %r1;
    ld.local.u32 %r2, [l+4];
    ld.shared.u64 %rd7, [%rd1+8];
    cvt.u32.u64 %r3, %rd7;
    add.u32 %r2, %r2, %r3;
    isspacep.shared %p1, %rd4;
    isspacep.global %p2, %rd0;
    isspacep.global %p3, %rd6;
    selp.u32 %r4, 1000, 0, %p1;
    add.u32 %r2, %r2, %r4;
    selp.u32 %r4, 2000, 0, %p2;
    add.u32 %r2, %r2, %r4;
    selp.u32 %r4, 4000, 0, %p3;
    add.u32 %r2, %r2, %r4;
    shl.b64 %rd8, %rd3, 0;
    shr.u64 %rd8, %rd8, 1;
    add.s64 %rd8, %rd0, %rd8;
    st.u32 [%rd8], %r2;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), 100 + i + 8 + 3000);
}

TEST(Memory, ParametersMayBeReadThroughTheirAddress) {
  TestRun run(kernel_text("mov.b64 %rd1, other;\ncvta.param.u64 %rd2, %rd1;\nld.u64 %rd3, "
                          "[%rd2];\nld.param.u64 %rd4, [%rd1];\n"
                          "st.global.v2.u64 [%rd0], {%rd3, %rd4};"),
              1);
  run.set_parameters({(run.address() + 15) / 16 * 16, 0x123456789abcdef0});
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  const std::size_t at = (16 - run.address() % 16) % 16 / 8;
  EXPECT_EQ(run.quad(at), 0x123456789abcdef0u);
  EXPECT_EQ(run.quad(at + 1), 0x123456789abcdef0u);
}

TEST(Memory, NarrowLoadsExtendToTheRegister) {
  TestRun run(
      kernel_text(
          "st.global.u32 [%rd0], 0x8899aabb;\nld.global.s8 %r1, [%rd0];\nld.global.u8 %r2, [%rd0+1];\n"
          "ld.global.s16 %rd1, [%rd0+2];\nld.global.s32 %rd2, [%rd0];\nst.global.v2.u32 [%rd0+8], {%r1, "
          "%r2};\n"
          "st.global.u64 [%rd0+16], %rd1;\nst.global.u64 [%rd0+24], %rd2;"),
      1);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(2), 0xffffffbbu);
  EXPECT_EQ(run.word(3), 0xaau);
  EXPECT_EQ(run.quad(2), 0xffffffffffff8899u);
  EXPECT_EQ(run.quad(3), 0xffffffff8899aabbu);
}

TEST(Memory, DynamicSharedMemoryFollowsTheStatic) {
  const std::string text = kernel_text(
      ".shared .align 4 .b8 fixed[20];\nmov.u32 %r1, fixed;\nmov.u32 %r2, dynamic;\n"
      "mov.u32 %r3, %dynamic_smem_size;\nst.shared.u32 [%r2+92], %r3;\n"
      "ld.shared.u32 %r4, [%r2+92];\nst.global.v4.u32 [%rd0], {%r1, %r2, %r3, %r4};");
  TestRun run(".version 9.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 16 .b8 dynamic[];\n" +
                  text.substr(text.find(".visible")),
              1);
  run.launch().dynamic_shared = 96;
  run.set_parameters({(run.address() + 15) / 16 * 16, 0});
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  const std::size_t at = (16 - run.address() % 16) % 16 / 4;
  EXPECT_EQ(run.word(at), 0u);
  EXPECT_EQ(run.word(at + 1), 32u);
  EXPECT_EQ(run.word(at + 3), 96u);
}

struct AtomicCase {
  const char* name;
  const char* body;  ///< on [%rd0], which holds `before`
  std::uint32_t before, after;
};
class Atomics : public testing::TestWithParam<AtomicCase> {};
TEST_P(Atomics, OfAllLanesCombine) {
  TestRun run(kernel_text(GetParam().body));
  run.word(0) = GetParam().before;
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  EXPECT_EQ(run.word(0), GetParam().after);
}
INSTANTIATE_TEST_SUITE_P(
    Operations, Atomics,
    testing::Values(AtomicCase{"Add", "atom.global.add.u32 %r1, [%rd0], %r0;", 5, 5 + 496},
                    AtomicCase{"RedAddSystem", "red.relaxed.sys.global.add.u32 [%rd0], 2;", 0, 64},
                    AtomicCase{"MinSigned", "sub.s32 %r1, 3, %r0;\natom.min.s32 %r2, [%rd0], %r1;", 0,
                               static_cast<std::uint32_t>(-28)},
                    AtomicCase{"MaxUnsigned", "atom.global.max.u32 %r1, [%rd0], %r0;", 7, 31},
                    AtomicCase{"IncrementWraps", "atom.global.inc.u32 %r1, [%rd0], 9;", 0,
                               2},  // 32 steps of a counter of 10
                    AtomicCase{"DecrementWraps", "atom.global.dec.u32 %r1, [%rd0], 9;", 0, 8},
                    AtomicCase{"Xor",
                               "mov.u32 %r1, 1;\nshl.b32 %r1, %r1, %r0;\nred.global.xor.b32 [%rd0], %r1;",
                               0xff, 0xffffff00},
                    AtomicCase{"FloatAdd", "atom.global.add.f32 %f1, [%rd0], 0f3F000000;", 0, 0x41800000},
                    AtomicCase{"HalvesAdd", "atom.global.add.noftz.f16x2 %r1, [%rd0], 0x3c004000;", 0,
                               0x50005400},  // 32 and 64
                    AtomicCase{"CasOfOneLaneWins", "atom.global.cas.b32 %r1, [%rd0], 3, %r0;", 3, 0}),
    [](const auto& test) { return test.param.name; });

TEST(Atomics64, CarryIntoTheUpperWord) {
  TestRun run(kernel_text("atom.global.add.u64 %rd1, [%rd0], 1;"));
  run.word(0) = 0xfffffff0;
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.quad(0), 0x100000010u);
}

TEST(WarpOperations, ShuffleModesKeepToTheirSegments) {
  TestRun run(kernel_text(R"(
    shfl.sync.up.b32 %r1|%p1, %r0, 3, 0x1800, -1;
    shfl.sync.down.b32 %r2|%p2, %r0, 3, 0x181f, -1;
    shfl.sync.idx.b32 %r3|%p3, %r0, 5, 0x181f, -1;
    selp.u32 %r4, 1, 0, %p1;
    selp.u32 %r5, 1, 0, %p2;
    mul.wide.u32 %rd1, %r0, 32;
    add.s64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1], %r1; st.global.u32 [%rd1+4], %r2; st.global.u32 [%rd1+8], %r3;
    st.global.u32 [%rd1+12], %r4; st.global.u32 [%rd1+16], %r5;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  for (std::uint32_t i = 0; i < 32; ++i) {  // segments of 8
    const std::uint32_t in_segment = i % 8;
    EXPECT_EQ(run.word(8 * i), in_segment >= 3 ? i - 3 : i) << i;
    EXPECT_EQ(run.word(8 * i + 1), in_segment + 3 < 8 ? i + 3 : i) << i;
    EXPECT_EQ(run.word(8 * i + 2), i / 8 * 8 + 5) << i;
    EXPECT_EQ(run.word(8 * i + 3), in_segment >= 3 ? 1u : 0u) << i;
    EXPECT_EQ(run.word(8 * i + 4), in_segment + 3 < 8 ? 1u : 0u) << i;
  }
}

TEST(WarpOperations, VotesMatchesAndReductions) {
  TestRun run(kernel_text(R"(
    and.b32 %r1, %r0, 3;
    setp.eq.u32 %p1, %r1, 0;
    vote.sync.ballot.b32 %r2, %p1, -1;
    vote.sync.any.pred %p2, %p1, -1;
    vote.sync.all.pred %p3, %p1, -1;
    match.any.sync.b32 %r3, %r1, -1;
    match.all.sync.b32 %r4|%p4, %r1, -1;
    redux.sync.add.s32 %r5, %r0, -1;
    redux.sync.max.u32 %r6, %r0, 0xffff;
    selp.u32 %r7, 1, 0, %p2;
    selp.u32 %r8, 2, 0, %p3;
    selp.u32 %r9, 4, 0, %p4;
    or.b32 %r7, %r7, %r8;
    or.b32 %r7, %r7, %r9;
    setp.ne.u32 %p5, %r0, 6;
    @%p5 bra done;
    st.global.u32 [%rd0], %r2; st.global.u32 [%rd0+4], %r3; st.global.u32 [%rd0+8], %r4;
    st.global.u32 [%rd0+12], %r5; st.global.u32 [%rd0+16], %r6; st.global.u32 [%rd0+20], %r7;
    done:)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  EXPECT_EQ(run.word(0), 0x11111111u);
  EXPECT_EQ(run.word(1), 0x44444444u);
  EXPECT_EQ(run.word(2), 0u);
  EXPECT_EQ(run.word(3), 496u);
  EXPECT_EQ(run.word(4), 15u);
  EXPECT_EQ(run.word(5), 1u);
}

TEST(Integers, CarryChainsOf128Bits) {
  TestRun run(kernel_text(R"(
    add.cc.u32 %r1, 0xffffffff, 1;
    addc.cc.u32 %r2, 0xffffffff, 0;
    addc.u32 %r3, 5, 6;
    sub.cc.u32 %r4, 0, 1;
    subc.u32 %r5, 10, 3;
    mad.lo.cc.u32 %r6, 0xffffffff, 0xffffffff, 0xffffffff;
    madc.hi.u32 %r7, 0xffffffff, 0xffffffff, 0;
    st.global.u32 [%rd0], %r1; st.global.u32 [%rd0+4], %r2; st.global.u32 [%rd0+8], %r3; st.global.u32 [%rd0+12], %r4;
    st.global.u32 [%rd0+16], %r5; st.global.u32 [%rd0+20], %r6; st.global.u32 [%rd0+24], %r7;)"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << to_string(run.block().fault());
  const std::uint32_t expected[] = {0, 0, 12,        0xffffffff,
                                    6, 0, 0xffffffff};  // (2^32-1)^2 + 2^32-1 = 2^64 - 2^32
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(run.word(i), expected[i]) << i;
}

TEST(Setp, CombinesAndWritesBothPredicates) {
  TestRun run(kernel_text(R"(
    setp.lt.u32 %p1, %r0, 16;
    setp.ge.and.u32 %p2|%p3, %r0, 8, %p1;
    selp.u32 %r1, 1, 0, %p2;
    selp.u32 %r2, 2, 0, %p3;
    or.b32 %r1, %r1, %r2;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd1, %rd0;
    st.global.u32 [%rd1], %r1;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.word(i), i >= 16 ? 0u : i >= 8 ? 1u : 2u) << i;
}

/// Largest error in units of the last place, with the bound the ISA gives.
struct Approximation {
  const char* opcode;
  double (*exact)(double);
  double low, high;
  double relative, absolute;
};
class Approximations : public testing::TestWithParam<Approximation> {};
TEST_P(Approximations, KeepTheDocumentedBound) {
  const Approximation& a = GetParam();
  TestRun run(kernel_text(fmt::format(
                  "mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd0, %rd1;\nld.global.f32 %f1, [%rd1];\n"
                  "{} %f2, %f1;\nst.global.f32 [%rd1], %f2;",
                  a.opcode)),
              1024);
  std::vector<float> inputs(1024);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = static_cast<float>(a.low + (a.high - a.low) * static_cast<double>(i) / 1023);
    run.word(i) = std::bit_cast<std::uint32_t>(inputs[i]);
  }
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double exact = a.exact(inputs[i]);
    EXPECT_LE(std::abs(run.real(i) - exact), a.absolute + a.relative * std::abs(exact))
        << a.opcode << " " << inputs[i];
  }
}
INSTANTIATE_TEST_SUITE_P(
    Functions, Approximations,
    testing::Values(
        Approximation{"ex2.approx.f32", [](double x) { return std::exp2(x); }, -20, 20, 0x1p-22, 0},
        Approximation{"lg2.approx.f32", [](double x) { return std::log2(x); }, 0.01, 100, 0x1p-22, 0x1p-22},
        Approximation{"sin.approx.f32", [](double x) { return std::sin(x); }, -3.1, 3.1, 0, 0x1p-20},
        Approximation{"cos.approx.f32", [](double x) { return std::cos(x); }, -3.1, 3.1, 0, 0x1p-20},
        Approximation{"rsqrt.approx.f32", [](double x) { return 1 / std::sqrt(x); }, 0.001, 1000, 0x1p-22, 0},
        Approximation{"rcp.approx.f32", [](double x) { return 1 / x; }, 0.001, 1000, 0x1p-23, 0},
        Approximation{"tanh.approx.f32", [](double x) { return std::tanh(x); }, -5, 5, 0x1p-10, 0}));

TEST(Kernels, KnowTheirLayout) {
  TestRun run(
      ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry _ZN1a4demoIiEEvPT_(.param .u8 x, "
      ".param .u64 y, "
      ".param .align 4 .b8 z[12])\n.maxntid 64, 2, 1\n{\nret;\n}\n",
      1);
  const Kernel& kernel = *run.launch().kernel;
  EXPECT_EQ(kernel.display_name, "a::demo<int>");
  EXPECT_EQ(kernel.max_threads, 128u);
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[1].offset, 8u);
  EXPECT_EQ(kernel.parameters[2].offset, 16u);
  EXPECT_EQ(kernel.parameter_bytes, 28u);
}

TEST(Counters, SplitGlobalBytesByOwner) {
  TestRun run(
      kernel_text("ld.param.u64 %rd1, [other];\nmul.wide.u32 %rd2, %r0, 4;\nadd.s64 %rd1, %rd1, %rd2;\n"
                  "add.s64 %rd2, %rd0, %rd2;\nld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd2], %r1;"));
  std::vector<std::uint32_t> peer(32, 7);
  run.memory().add({reinterpret_cast<std::uint64_t>(peer.data()), 128, "peer", 1, false});
  run.set_parameters({run.address(), reinterpret_cast<std::uint64_t>(peer.data())});
  run.launch().ranks = 2;
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(31), 7u);
  const Counters& counters = run.block().counters();
  EXPECT_EQ(counters.read_from, (std::vector<std::uint64_t>{0, 128}));
  EXPECT_EQ(counters.written_to, (std::vector<std::uint64_t>{128, 0}));
  EXPECT_EQ(counters.warp_instructions * 32, counters.lane_instructions);
}

}  // namespace
}  // namespace pkb::virtual_gpu
