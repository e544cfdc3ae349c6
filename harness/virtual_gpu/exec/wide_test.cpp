// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

/// A buffer on a boundary of 16 bytes: %rd1 of every thread is its own 64 bytes there.
std::string wide_kernel(const std::string& body) {
  return kernel_text(
      ".reg .b128 %q<4>;\nadd.s64 %rd1, %rd0, 15;\nand.b64 %rd1, %rd1, -16;\n"
      "mul.wide.u32 %rd2, %r0, 64;\nadd.s64 %rd1, %rd1, %rd2;\n" +
      body);
}

/// Index of thread t's quad in a TestRun.
std::size_t first_quad(const TestRun& run, std::size_t thread) {
  return ((run.address() + 15) / 16 * 16 - run.address()) / 8 + 8 * thread;
}

TEST(Wide, LoadsStoresAndMovesKeepHalvesInOrder) {
  TestRun run(wide_kernel(R"(
    .shared .align 16 .b8 s[512];
    mov.b64 %rd3, 0x1111222233334444;
    cvt.u64.u32 %rd4, %r0;
    mov.b128 %q0, {%rd3, %rd4};
    st.global.b128 [%rd1], %q0;
    mov.u32 %r1, s;
    mad.lo.u32 %r1, %r0, 16, %r1;
    ld.global.b128 %q1, [%rd1];
    st.shared.b128 [%r1], %q1;
    ld.shared.b128 %q2, [%r1];
    mov.b128 %q3, %q2;
    mov.b128 {%rd5, %rd6}, %q3;
    st.global.u64 [%rd1+16], %rd6;
    st.global.u64 [%rd1+24], %rd5;
    mov.b128 {%r2, %r3, %r4, %r5}, %q3;
    mov.b128 %q0, {%r5, %r4, %r3, %r2};
    st.release.gpu.global.b128 [%rd1+32], %q0;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::size_t t = 0; t < 32; ++t) {
    const std::size_t at = first_quad(run, t);
    const std::uint64_t expected[] = {0x1111222233334444, t,       t,
                                      0x1111222233334444, t << 32, 0x3333444411112222};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(run.quad(at + i), expected[i]) << t << ' ' << i;
  }
}

TEST(Wide, MisalignedIsAFault) {
  TestRun run(wide_kernel("ld.global.b128 %q0, [%rd1+8];"), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::misaligned);
}

// Every thread adds 1 to both halves of one number, the high half being the low one's complement.
TEST(Wide, CompareAndSwapChangesBothHalvesAtOnce) {
  TestRun run(wide_kernel(R"(
    sub.s64 %rd1, %rd1, %rd2;
    mov.b64 %rd3, 0;
    mov.b128 %q0, {%rd3, %rd3};
    again:
    mov.b128 {%rd3, %rd4}, %q0;
    add.s64 %rd3, %rd3, 1;
    sub.s64 %rd4, %rd4, 1;
    mov.b128 %q1, {%rd3, %rd4};
    atom.global.cas.b128 %q2, [%rd1], %q0, %q1;
    mov.b128 {%rd5, %rd6}, %q0;
    mov.b128 {%rd7, %rd8}, %q2;
    mov.b128 %q0, %q2;
    setp.ne.u64 %p1, %rd5, %rd7;
    @%p1 bra again;
    setp.ne.u64 %p1, %rd6, %rd8;
    @%p1 bra again;)"),
              64);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.quad(first_quad(run, 0)), 64u);
  EXPECT_EQ(run.quad(first_quad(run, 0) + 1), -std::uint64_t{64});
}

TEST(Wide, ExchangeReturnsWhatWasThere) {
  TestRun run(wide_kernel(R"(
    mov.b64 %rd3, 5;
    mov.b64 %rd4, 6;
    mov.b128 %q0, {%rd3, %rd4};
    st.global.b128 [%rd1], %q0;
    mov.b128 %q1, {%rd4, %rd3};
    atom.exch.b128 %q2, [%rd1], %q1;
    st.global.b128 [%rd1+16], %q2;)"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  const std::uint64_t expected[] = {6, 5, 5, 6};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(run.quad(first_quad(run, 0) + i), expected[i]);
}

}  // namespace
}  // namespace pkb::virtual_gpu
