// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

// Each thread takes 4 to 128 bytes, fills them, calls a function with variables of its own, and reads them
// back.
TEST(Alloca, MemoryLastsAcrossCalls) {
  std::string text = kernel_text(R"(
    add.u32 %r1, %r0, 1;
    mul.wide.u32 %rd1, %r1, 4;
    alloca.u64 %rd2, %rd1, 16;
    and.b64 %rd9, %rd2, 15;
    cvta.local.u64 %rd3, %rd2;
    mov.u32 %r2, 0;
    fill:
    mul.wide.u32 %rd4, %r2, 4;
    add.s64 %rd5, %rd3, %rd4;
    mad.lo.u32 %r3, %r2, 100, %r0;
    st.u32 [%rd5], %r3;
    add.u32 %r2, %r2, 1;
    setp.le.u32 %p1, %r2, %r0;
    @%p1 bra fill;
    {
      .param .b32 result;
      call.uni (result), scribble, ();
      ld.param.b32 %r4, [result];
    }
    mov.u32 %r2, 0;
    mov.u32 %r5, 0;
    sum:
    mul.wide.u32 %rd4, %r2, 4;
    add.s64 %rd5, %rd3, %rd4;
    ld.u32 %r3, [%rd5];
    add.u32 %r5, %r5, %r3;
    add.u32 %r2, %r2, 1;
    setp.le.u32 %p1, %r2, %r0;
    @%p1 bra sum;
    mul.wide.u32 %rd4, %r0, 8;
    add.s64 %rd5, %rd0, %rd4;
    st.global.u32 [%rd5], %r5;
    cvt.u32.u64 %r6, %rd9;
    add.u32 %r6, %r6, %r4;
    st.global.u32 [%rd5+4], %r6;)");
  const std::string function = R"(
.func (.param .b32 out) scribble() {
.local .align 8 .b8 depot[256];
.reg .b32 %a<4>; .reg .b64 %b<4>; .reg .pred %c<2>;
mov.u32 %a0, 0;
next:
cvt.u64.u32 %b0, %a0;
mov.u64 %b1, depot;
add.s64 %b2, %b1, %b0;
st.local.u32 [%b2], -1;
add.u32 %a0, %a0, 4;
setp.lt.u32 %c0, %a0, 256;
@%c0 bra next;
st.param.b32 [out], 7;
ret;
}
)";
  text.insert(text.find(".visible"), function);
  TestRun run(text);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(run.word(2 * t), 100 * (t * (t + 1) / 2) + t * (t + 1)) << t;
    EXPECT_EQ(run.word(2 * t + 1), 7u);
  }
}

TEST(Alloca, RestoreGivesBackWhatALoopTook) {
  TestRun run(kernel_text(R"(
    mov.u32 %r1, 0;
    again:
    stacksave.u64 %rd1;
    alloca.u64 %rd2, 4096;
    st.local.u32 [%rd2+4092], %r1;
    ld.local.u32 %r2, [%rd2+4092];
    stackrestore.u64 %rd1;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, 5000;
    @%p1 bra again;
    st.global.u32 [%rd0], %r2;)"),
              1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  EXPECT_EQ(run.word(0), 4999u);
}

TEST(Alloca, TooMuchIsAStackOverflow) {
  TestRun run(kernel_text("mov.u64 %rd1, 0x10000000;\nalloca.u64 %rd2, %rd1;"), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().text, "stack overflow: no room for 268435456 bytes by alloca");
}

TEST(Alloca, EndsWhereItsBytesEnd) {
  TestRun run(kernel_text("alloca.u64 %rd2, 32;\nst.local.u32 [%rd2+32], 1;"), 1);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::illegal_address);
}

}  // namespace
}  // namespace pkb::virtual_gpu
