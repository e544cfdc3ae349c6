// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/print.h"

#include <bit>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

/// Arguments as CUDA's compiler packs them.
class Packed {
 public:
  Packed& word(std::uint32_t value) { return put(&value, sizeof value); }
  Packed& quad(std::uint64_t value) { return put(&value, sizeof value); }
  Packed& real(double value) { return put(&value, sizeof value); }
  PrintSource source() const {
    return {[this](std::uint64_t offset, std::uint32_t bytes) {
              std::uint64_t value = 0;
              std::memcpy(&value, x_bytes.data() + offset, bytes);
              return value;
            },
            [](std::uint64_t address) { return "text" + std::to_string(address); }};
  }
  Printed print(const std::string& format) const { return format_print(format, source()); }

 private:
  Packed& put(const void* from, std::size_t size) {
    const std::size_t at = (x_bytes.size() + size - 1) / size * size;
    x_bytes.resize(at + size);
    std::memcpy(x_bytes.data() + at, from, size);
    return *this;
  }
  std::vector<std::byte> x_bytes;
};

TEST(Print, ArgumentsLieOnMultiplesOfTheirSize) {
  const Printed printed =
      Packed().word(7).quad(~0ull).word(~0u).word('x').real(1.5).quad(9).print("%d %lld %i %c %f %s|");
  EXPECT_EQ(printed.text, "7 -1 -1 x 1.500000 text9|");
  EXPECT_EQ(printed.arguments, 6);
}

TEST(Print, FlagsWidthAndPrecision) {
  EXPECT_EQ(Packed().word(42).word(42).word(42).word(42).print("[%5d][%-5d][%05d][%+d]").text,
            "[   42][42   ][00042][+42]");
  EXPECT_EQ(Packed().word(255).word(255).word(8).word(255).print("%x %#X %o %08x").text,
            "ff 0XFF 10 000000ff");
  EXPECT_EQ(Packed().real(3.14159).real(12345.678).real(0.0001).real(1.0).print("%.2f|%10.1e|%g|%a").text,
            "3.14|   1.2e+04|0.0001|0x1p+0");
  EXPECT_EQ(Packed().word(6).word(3).real(2.0).print("%*.*f").text, " 2.000");
  EXPECT_EQ(Packed().word(static_cast<std::uint32_t>(-4)).word(1).print("%*d|").text, "1   |");
  EXPECT_EQ(Packed().quad(5).print("%8.4s|").text, "    text|");
}

TEST(Print, SizesOfIntegers) {
  EXPECT_EQ(Packed().quad(1ull << 40).quad(~0ull).quad(3).print("%ld %llu %zu").text,
            "1099511627776 18446744073709551615 3");
  EXPECT_EQ(Packed().word(~0u).word(0x1ffff).word(0x101).print("%u %hd %hhu").text, "4294967295 -1 1");
  EXPECT_EQ(Packed().quad(0xabc).quad(0).print("%p %s").text, "0xabc (null)");
}

TEST(Print, PercentAndWhatIsNoConversion) {
  EXPECT_EQ(Packed().print("100%% %y %").text, "100% %y %");
  EXPECT_EQ(Packed().print("100%%").arguments, 0);
}

constexpr const char* kCalls = R"(
    .local .align 8 .b8 packed[16];
    .reg .b64 %a, %s;
    st.local.u32 [packed], %r0;
    mul.wide.u32 %rd5, %r0, 3;
    st.local.u64 [packed+8], %rd5;
    mov.u64 %s, packed;
    cvta.local.u64 %a, %s;
    {
    .param .b64 format; .param .b64 arguments; .param .b32 result;
    st.param.b64 [format], %rd0;
    st.param.b64 [arguments], %a;
    call.uni (result), vprintf, (format, arguments);
    ld.param.b32 %r5, [result];
    }
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1+64], %r5;)";

std::string with_vprintf(const std::string& text) {
  const std::size_t at = text.find(".visible");
  return text.substr(0, at) + ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n" +
         text.substr(at);
}

TEST(Print, LanesPrintInOrderAndCountArguments) {
  TestRun run(with_vprintf(kernel_text(kCalls)), 3);
  std::memcpy(&run.word(0), "lane %d: %llu\n", 15);
  testing::internal::CaptureStdout();
  const auto outcome = run.run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "lane 0: 0\nlane 1: 3\nlane 2: 6\n");
  ASSERT_EQ(outcome, Block::Outcome::finished);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(run.word(16 + i), 2u);
}

TEST(Print, AWrongStringPointerIsAFault) {
  std::string body = kCalls;
  body.replace(body.find("mul.wide.u32 %rd5, %r0, 3"), 25, "mov.u64 %rd5, 64");
  TestRun wrong(with_vprintf(kernel_text(body)), 1);
  std::memcpy(&wrong.word(0), "%d %s\n", 7);
  testing::internal::CaptureStdout();
  const auto outcome = wrong.run();
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  ASSERT_EQ(outcome, Block::Outcome::fault);
  EXPECT_EQ(wrong.block().fault().kind, Fault::Kind::illegal_address);
}

}  // namespace
}  // namespace pkb::virtual_gpu
