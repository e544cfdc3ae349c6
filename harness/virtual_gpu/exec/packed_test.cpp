// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

struct Case {
  const char* statement;  ///< writes %r4; %r1, %r2 and %r3 hold a, b and c
  std::uint32_t a, b, c, expected;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.statement; }

class Packed : public testing::TestWithParam<Case> {};

TEST_P(Packed, GivesWhatTheIsaSays) {
  const Case& one = GetParam();
  TestRun run(
      kernel_text(fmt::format("mov.u32 %r1, {};\nmov.u32 %r2, {};\nmov.u32 %r3, {};\n{}\nst.global.u32 "
                              "[%rd0], %r4;",
                              one.a, one.b, one.c, one.statement)),
      1);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  EXPECT_EQ(run.word(0), one.expected) << std::hex << run.word(0);
}

INSTANTIATE_TEST_SUITE_P(
    Video, Packed,
    testing::Values(
        Case{"vabsdiff4.u32.u32.u32 %r4, %r1, %r2, %r3;", 0x01ff8005, 0x03010a05, 9, 0x02fe7600},
        Case{"vabsdiff4.u32.s32.s32 %r4, %r1, %r2, %r3;", 0x807fff00, 0x7f800101, 0, 0xffff0201},
        Case{"vabsdiff4.u32.u32.u32.add %r4, %r1, %r2, %r3;", 0x01ff8005, 0x03010a05, 9, 2 + 254 + 118 + 9},
        Case{"vabsdiff2.u32.u32.u32.add %r4, %r1, %r2, %r3;", 0x00010009, 0x00050003, 100, 4 + 6 + 100},
        Case{"vadd4.u32.u32.u32 %r4, %r1, %r2, %r3;", 0xff0180ff, 0x02020180, 0, 0x0103817f},
        Case{"vadd4.u32.u32.u32.sat %r4, %r1, %r2, %r3;", 0xff0180ff, 0x02020180, 0, 0xff0381ff},
        Case{"vadd4.s32.s32.s32.sat %r4, %r1, %r2, %r3;", 0x7f80ff01, 0x01ff0102, 0, 0x7f800003},
        Case{"vsub2.s32.s32.s32.sat %r4, %r1, %r2, %r3;", 0x80000005, 0x00010007, 0, 0x8000fffe},
        Case{"vavrg4.u32.u32.u32 %r4, %r1, %r2, %r3;", 0xff000102, 0xfe000203, 0, 0xff000203},
        Case{"vavrg2.s32.s32.s32 %r4, %r1, %r2, %r3;", 0xfffd0003, 0x00000004, 0, 0xfffe0004},  // -1.5, 3.5
        Case{"vmin4.s32.s32.s32 %r4, %r1, %r2, %r3;", 0x80ff0102, 0x7f010203, 0, 0x80ff0102},
        Case{"vmax4.u32.u32.u32 %r4, %r1, %r2, %r3;", 0x80ff0102, 0x7f010203, 0, 0x80ff0203}));

INSTANTIATE_TEST_SUITE_P(
    Pack, Packed,
    testing::Values(
        Case{"cvt.pack.sat.u16.s32 %r4, %r1, %r2;", 70000, 0xffffffff, 0, 0xffff0000},
        Case{"cvt.pack.sat.s16.s32 %r4, %r1, %r2;", 70000, 0xffff0000, 0, 0x7fff8000},
        Case{"cvt.pack.sat.u8.s32.b32 %r4, %r1, %r2, %r3;", 300, 0xfffffff0, 0x1234abcd, 0xabcdff00},
        Case{"cvt.pack.sat.s8.s32.b32 %r4, %r1, %r2, %r3;", 300, 0xfffffff0, 0x1234abcd, 0xabcd7ff0},
        Case{"cvt.pack.sat.u4.s32.b32 %r4, %r1, %r2, %r3;", 3, 17, 0x01234567, 0x2345673f},
        Case{"cvt.pack.sat.s2.s32.b32 %r4, %r1, %r2, %r3;", 0xfffffffb, 1, 0x01234567, 0x12345679}));

INSTANTIATE_TEST_SUITE_P(
    Relu, Packed,
    testing::Values(Case{"max.s16x2.relu %r4, %r1, %r2;", 0xfff00003, 0xfff80002, 0, 0x00000003},
                    Case{"min.relu.s16x2 %r4, %r1, %r2;", 0x0005fff0, 0x00040001, 0, 0x00040000},
                    Case{"max.s32.relu %r4, %r1, %r2;", 0xfffffff0, 0xffffffff, 0, 0},
                    Case{"min.relu.s32 %r4, %r1, %r2;", 5, 3, 0, 3},
                    Case{"mad24.hi.sat.s32 %r4, %r1, %r2, %r3;", 0x7fffff, 0x7fffff, 0x7fffffff,
                         0x7fffffff}));

INSTANTIATE_TEST_SUITE_P(Lop3, Packed,
                         testing::Values(Case{"setp.ne.u32 %p1, %r3, 0;\nlop3.or.b32 %r5|%p2, %r1, %r2, %r3, "
                                              "0xc0, %p1;\nselp.u32 %r4, 1, 0, %p2;",
                                              5, 2, 0, 0},
                                         Case{"setp.ne.u32 %p1, %r3, 0;\nlop3.or.b32 %r5|%p2, %r1, %r2, %r3, "
                                              "0xc0, %p1;\nselp.u32 %r4, 1, 0, %p2;",
                                              5, 2, 1, 1},
                                         Case{"setp.ne.u32 %p1, %r3, 0;\nlop3.and.b32 %r5|%p2, %r1, %r2, "
                                              "%r3, 0xc0, %p1;\nselp.u32 %r4, %r5, 9, %p2;",
                                              5, 4, 1, 4},
                                         Case{"setp.ne.u32 %p1, %r3, 0;\nlop3.and.b32 _|%p2, %r1, %r2, %r3, "
                                              "0xc0, !%p1;\nselp.u32 %r4, 1, 9, %p2;",
                                              5, 4, 1, 9}));

}  // namespace
}  // namespace pkb::virtual_gpu
