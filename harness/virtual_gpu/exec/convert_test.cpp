// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/float8_type.h"
#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

/// The value of a code by the definition of the formats (OCP 8-bit floating point specification).
double value_of(unsigned code, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(code >> fraction_bits & ((1u << exponent_bits) - 1));
  const unsigned fraction = code & ((1u << fraction_bits) - 1);
  const bool special = exponent == (1 << exponent_bits) - 1;
  double magnitude;
  if (exponent_bits == 4 && special && fraction == 7)
    magnitude = std::numeric_limits<double>::quiet_NaN();
  else if (exponent_bits == 5 && special)
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    magnitude = std::ldexp(fraction, 1 - bias - fraction_bits);
  else
    magnitude = std::ldexp((1u << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return code >> 7 != 0 ? -magnitude : magnitude;
}

/// The nearest finite code by looking at all; of two the even one.
unsigned nearest(float value, int exponent_bits, int fraction_bits) {
  unsigned best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (unsigned code = 0; code < 128; ++code) {
    // Beyond all codes a double could not tell the distances apart.
    const double magnitude = std::min(std::fabs(double{value}), 1e6);
    const double distance = std::fabs(value_of(code, exponent_bits, fraction_bits) - magnitude);
    if (distance < least || (distance == least && code % 2 == 0)) least = distance, best = code;
  }
  return best | (std::signbit(value) ? 0x80u : 0u);
}

TEST(Float8, EveryCodeHasItsValue) {
  for (unsigned code = 0; code < 256; ++code) {
    const double e4m3 = value_of(code, 4, 3), e5m2 = value_of(code, 5, 2);
    const float got4 = to_float(E4m3{static_cast<std::uint8_t>(code)}),
                got5 = to_float(E5m2{static_cast<std::uint8_t>(code)});
    EXPECT_TRUE(got4 == e4m3 || (std::isnan(got4) && std::isnan(e4m3))) << code;
    EXPECT_TRUE(got5 == e5m2 || (std::isnan(got5) && std::isnan(e5m2))) << code;
    EXPECT_EQ(std::signbit(got5), code >= 128) << code;
  }
}

TEST(Float8, RoundsToTheNearestCode) {
  std::vector<float> values = {0.0f, -0.0f, 448.0f, 463.9f, 464.0f, 465.0f, 57344.0f, 61439.0f, 61440.0f, 3e38f, -1e-30f};
  for (unsigned code = 0; code < 127; ++code)  // ties and their neighbours
    for (const auto& [e, f] : {std::pair(4, 3), {5, 2}})
      if (const auto tie = static_cast<float>((value_of(code, e, f) + value_of(code + 1, e, f)) / 2); std::isfinite(tie))
        for (const float value : {tie, std::nextafter(tie, 0.0f), std::nextafter(tie, 1e9f)}) values.push_back(-value), values.push_back(value);
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (std::isfinite(value)) values.push_back(value);
    values.push_back(std::ldexp(static_cast<float>(random()), -static_cast<int>(random() % 60)));
  }
  for (const float value : values) {
    ASSERT_EQ(to_e4m3(value).bits, nearest(value, 4, 3)) << value;
    ASSERT_EQ(to_e5m2(value).bits, nearest(value, 5, 2)) << value;
  }
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(to_e4m3(inf).bits, 0x7e);
  EXPECT_EQ(to_e4m3(-inf).bits, 0xfe);
  EXPECT_EQ(to_e5m2(inf).bits, 0x7b);
  EXPECT_EQ(to_e4m3(std::nanf("")).bits, 0x7f);
  EXPECT_EQ(to_e5m2(-std::nanf("")).bits, 0x7f);
}

/// One conversion of 32-bit operands, by hand.
struct Conversion {
  std::string statement;  // of %r3 or %h3 from %r1 and %r2, or %h1
  std::uint32_t a, b, expected;
};

TEST(Convert, PacksAsDocumented) {
  const std::uint32_t one = 0x3f800000, two = 0x40000000, minus = 0xbf800000, big = 0x7f7fffff, nan = 0x7fc00000,
                      inf = 0x7f800000;
  for (const Conversion& c : std::vector<Conversion>{
           {"cvt.rn.satfinite.e4m3x2.f32 %h3, %f1, %f2", two, one, 0x4038},
           {"cvt.rn.satfinite.relu.e4m3x2.f32 %h3, %f1, %f2", minus, big, 0x007e},
           {"cvt.rn.satfinite.e5m2x2.f32 %h3, %f1, %f2", minus, nan, 0xbc7f},
           {"cvt.rn.satfinite.relu.e5m2x2.f32 %h3, %f1, %f2", nan, minus, 0x7f00},
           {"cvt.rn.satfinite.e4m3x2.f16x2 %h3, %r1", 0xbc004000, 0, 0xb840},
           {"cvt.rn.satfinite.e5m2x2.f16x2 %h3, %r1", 0x7bff7c00, 0, 0x7b7b},
           {"cvt.rn.f16x2.e4m3x2 %r3, %h1", 0xb87e, 0, 0xbc005f00},
           {"cvt.rn.relu.f16x2.e4m3x2 %r3, %h1", 0xb87f, 0, 0x00007fff},
           {"cvt.rn.f16x2.e5m2x2 %r3, %h1", 0x7cbc, 0, 0x7c00bc00},
           {"cvt.rn.relu.f16x2.e5m2x2 %r3, %h1", 0x3cbc, 0, 0x3c000000},
           {"cvt.rn.tf32.f32 %r3, %f1", 0x3f801000, 0, 0x3f800000},       // a tie, to even
           {"cvt.rna.tf32.f32 %r3, %f1", 0x3f801000, 0, 0x3f802000},      // away from zero
           {"cvt.rz.tf32.f32 %r3, %f1", 0xbf801fff, 0, 0xbf800000},
           {"cvt.rn.relu.tf32.f32 %r3, %f1", 0xbf801fff, 0, 0},
           {"cvt.rna.satfinite.tf32.f32 %r3, %f1", big, 0, 0x7f7fe000},
           {"cvt.rn.satfinite.f16x2.f32 %r3, %f1, %f2", big, inf, 0x7bff7bff},
           {"cvt.rn.relu.satfinite.bf16x2.f32 %r3, %f1, %f2", minus, inf, 0x00007f7f},
           {"cvt.rz.relu.f16x2.f32 %r3, %f1, %f2", minus, nan, 0x00007fff},
           {"cvt.rn.f16x2.f32 %r3, %f1, %f2", two, minus, 0x4000bc00},
           {"cvt.pack.sat.s16.s32 %r3, %r1, %r2", 0x00012345, 0xffffffff, 0x7fffffff},
           {"cvt.pack.sat.u16.s32 %r3, %r1, %r2", 0x00012345, 0xffffffff, 0xffff0000},
           {"cvt.pack.sat.u8.s32.b32 %r3, %r1, %r2, %r4", 300, 7, 0xcdefff07},
           {"cvt.pack.sat.s4.s32.b32 %r3, %r1, %r2, %r4", 0xffffff00, 5, 0xabcdef85},
           {"cvt.pack.sat.u2.s32.b32 %r3, %r1, %r2, %r4", 9, 1, 0x9abcdefd},
       }) {
    const bool half = c.statement.find("%h3") != std::string::npos;
    TestRun run(kernel_text(fmt::format(
        "mov.u32 %r1, {:#x};\nmov.u32 %r2, {:#x};\nmov.u32 %r4, 0x89abcdef;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n"
        "cvt.u16.u32 %h1, %r1;\n{};\n{}st.global.u32 [%rd0], %r3;",
        c.a, c.b, c.statement, half ? "cvt.u32.u16 %r3, %h3;\n" : "")));
    ASSERT_EQ(run.run(), Block::Outcome::finished) << c.statement << ": " << run.block().fault().text;
    EXPECT_EQ(run.word(0), c.expected) << c.statement << fmt::format(": {:#x}", run.word(0));
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu
