// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"
#include "harness/virtual_gpu/exec/test_matrix.h"
#include "harness/virtual_gpu/exec/warpgroup.h"

namespace pkb::virtual_gpu {
namespace {

/// A matrix in shared memory: where element (line, k) lies, and the descriptor that says so. Written down as
/// CuTe does: a layout in units of 16 bytes, then Swizzle<B, 4, 3> over the address.
struct Layout {
  unsigned swizzle = 0;  // B
  bool across = false;   // MN-major
  unsigned start = 0, leading = 0, stride = 0;

  unsigned address(unsigned line, unsigned k, unsigned bits) const {
    const unsigned w = 1u << swizzle;
    unsigned bytes;
    if (!across) {  // ((8, n), 2) : ((w, SBO), LBO or 1)
      const unsigned piece = k * bits / 128;
      bytes = line % 8 * 16 * w + line / 8 * stride + piece * (swizzle == 0 ? leading : 16) + k * bits / 8 % 16;
    } else if (swizzle == 0) {  // ((1, n), (8, k)) : ((-, SBO), (1, LBO))
      bytes = line / 8 * stride + line % 8 * 2 + k % 8 * 16 + k / 8 * leading;
    } else {  // ((w, n), (8, k)) : ((1, LBO), (w, SBO))
      bytes = line / 8 % w * 16 + line / (8 * w) * leading + line % 8 * 2 + k % 8 * 16 * w + k / 8 * stride;
    }
    const unsigned at = start + bytes;
    return at ^ (at >> 3 & ((1u << swizzle) - 1) << 4);
  }
  std::uint64_t descriptor() const {
    constexpr std::uint64_t kModes[] = {0, 3, 2, 1};
    return std::uint64_t{start >> 4} | std::uint64_t{leading >> 4} << 16 | std::uint64_t{stride >> 4} << 32 |
           kModes[swizzle] << 62;
  }
};

struct Case {
  const char* name;
  int n;
  Format a, b;
  const char* sum;
  bool a_in_registers = false;
  Layout a_layout, b_layout;
  int scale = 1;         // of A
  bool adds = true;      // C
  const char* more = "";  // modifiers
  const char* operation = "";
};

constexpr int kThreads = 128;
constexpr unsigned kShared = 64 * 1024;

std::string kernel_of(const Case& c, int a_registers, int sums) {
  const int k = 256 / c.a.bits;
  std::string body = fmt::format(".shared .align 1024 .b8 s[{}];\n.reg .b32 %d<{}>;\n", kShared, sums);
  // The image of shared memory comes first in the buffer, then the threads' registers.
  body += R"(
    shl.b32 %r1, %r0, 4;
    cvt.u64.u32 %rd1, %r1;
    add.s64 %rd1, %rd0, %rd1;
    mov.u32 %r2, s;
    add.u32 %r1, %r1, %r2;
    mov.u32 %r3, 0;
    again:
    ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd1];
    st.shared.v4.u32 [%r1], {%r4, %r5, %r6, %r7};
    add.s64 %rd1, %rd1, 2048;
    add.u32 %r1, %r1, 2048;
    add.u32 %r3, %r3, 1;
)";
  body += fmt::format("setp.lt.u32 %p1, %r3, {};\n@%p1 bra again;\nbar.sync 0;\n", kShared / 2048);
  body += fmt::format("mul.wide.u32 %rd1, %r0, 1024;\nadd.s64 %rd1, %rd0, %rd1;\nadd.s64 %rd1, %rd1, {};\n",
                      kShared);
  for (int i = 0; i < a_registers; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4 * i);
  for (int i = 0; i < sums; ++i) body += fmt::format("ld.global.u32 %d{}, [%rd1+{}];\n", i, 16 + 4 * i);
  body += fmt::format("mov.u64 %rd2, {:#x};\nmov.u64 %rd3, {:#x};\nsetp.eq.u32 %p2, {}, 1;\n",
                      c.a_layout.descriptor(), c.b_layout.descriptor(), c.adds ? 1 : 0);
  std::string tail = "%p2";
  if (c.a.exponent_bits != 0) tail += fmt::format(", {}, 1", c.scale);
  if (c.a.bits == 16 && !c.a_in_registers) tail += c.a_layout.across ? ", 1" : ", 0";
  if (c.a.bits == 16) tail += c.b_layout.across ? ", 1" : ", 0";
  body += fmt::format(
      "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n{}k{}{}.{}.{}.{}{} {}, {}, %rd3, {};\n"
      "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
      c.n, k, c.more, c.sum, c.a.name, c.b.name, c.operation, registers("d", 0, sums),
      c.a_in_registers ? registers("r", 10, 4) : "%rd2", tail);
  for (int i = 0; i < sums; ++i) body += fmt::format("st.global.u32 [%rd1+{}], %d{};\n", 16 + 4 * i, i);
  return kernel_text(body);
}

class Wgmma : public testing::TestWithParam<Case> {};

TEST_P(Wgmma, MultipliesAsDocumented) {
  const Case& c = GetParam();
  const bool narrow = std::string(c.sum) == "f16", integers = std::string(c.sum) == "s32";
  const int k = 256 / c.a.bits, sums = narrow ? c.n / 4 : c.n / 2, each = 32 / c.a.bits;
  TestRun run(kernel_of(c, c.a_in_registers ? 4 : 0, sums), kThreads, kShared / 4 + 256 * kThreads);
  auto* image = reinterpret_cast<std::uint8_t*>(run.address());
  const auto place = [&](const Layout& layout, const Format& format, unsigned line, unsigned at, int value) {
    const unsigned address = layout.address(line, at, static_cast<unsigned>(format.bits));
    ASSERT_LT(address, kShared);
    const std::uint32_t bits = encode(value, format);
    if (format.bits >= 8)
      std::memcpy(image + address, &bits, static_cast<std::size_t>(format.bits / 8));
    else
      image[address] = static_cast<std::uint8_t>(image[address] | bits << at * static_cast<unsigned>(format.bits) % 8);
  };
  for (int j = 0; j < k; ++j) {
    if (!c.a_in_registers)
      for (int i = 0; i < 64; ++i)
        place(c.a_layout, c.a, static_cast<unsigned>(i), static_cast<unsigned>(j), value_at(1, i, j, c.a));
    for (int i = 0; i < c.n; ++i)
      place(c.b_layout, c.b, static_cast<unsigned>(i), static_cast<unsigned>(j), value_at(2, j, i, c.b));
  }
  const auto start = [](int i, int j) { return (i + 2 * j) % 11 - 5; };
  const auto word_of = [&](int thread, int i) -> std::uint32_t& {
    return run.word(static_cast<std::size_t>(kShared / 4 + 256 * thread + i));
  };
  const auto sum_bits = [&](int value) {
    return integers ? static_cast<std::uint32_t>(value) : encode(value, 8, 23);
  };
  // PTX ISA 9.7.15.5.1: element i of a thread's accumulators.
  const auto row_of = [](int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + 8 * (i / 2 % 2); };
  const auto column_of = [](int thread, int i) { return 8 * (i / 4) + 2 * (thread % 4) + i % 2; };
  for (int thread = 0; thread < kThreads; ++thread) {
    if (c.a_in_registers)
      for (int r = 0; r < 4; ++r)
        for (int e = 0; e < each; ++e)
          word_of(thread, r) |= encode(value_at(1, thread / 32 * 16 + thread % 32 / 4 + 8 * (r % 2),
                                                4 * each * (r / 2) + thread % 4 * each + e, c.a),
                                       c.a)
                                << e * c.a.bits;
    for (int i = 0; i < c.n / 2; ++i) {
      const int value = start(row_of(thread, i), column_of(thread, i));
      if (narrow)
        word_of(thread, 4 + i / 2) |= encode(value, 5, 10) << 16 * (i % 2);
      else
        word_of(thread, 4 + i) = sum_bits(value);
    }
  }
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (int thread = 0; thread < kThreads; ++thread)
    for (int i = 0; i < c.n / 2; ++i) {
      const int row = row_of(thread, i), column = column_of(thread, i);
      int sum = c.adds ? start(row, column) : 0;
      for (int j = 0; j < k; ++j) sum += c.scale * value_at(1, row, j, c.a) * value_at(2, j, column, c.b);
      const std::uint32_t word = word_of(thread, 4 + (narrow ? i / 2 : i));
      ASSERT_EQ(narrow ? word >> 16 * (i % 2) & 0xffff : word, narrow ? encode(sum, 5, 10) : sum_bits(sum))
          << thread << ' ' << i;
    }
}

constexpr unsigned kB = 32 * 1024;  // where B starts

// Compact tiles of a depth of 64 elements of 16 bits, as TMA would leave them: lines, or k, of `width` bytes.
constexpr Layout along(unsigned swizzle, unsigned start, unsigned leading = 0, unsigned stride = 0) {
  return {swizzle, false, start, leading, stride == 0 ? 8 * (16u << swizzle) : stride};
}
constexpr Layout across(unsigned swizzle, unsigned start, unsigned leading, unsigned stride) {
  return {swizzle, true, start, leading, stride};
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Wgmma,
    testing::Values(
        Case{"swizzle128", 128, kBf16, kBf16, "f32", false, along(3, 0), along(3, kB)},
        Case{"swizzle128_second_step", 64, kBf16, kBf16, "f32", false, along(3, 32), along(3, kB + 96)},
        Case{"swizzle64", 24, kF16, kF16, "f32", false, along(2, 0), along(2, kB + 32)},
        Case{"swizzle32", 8, kF16, kF16, "f16", false, along(1, 256), along(1, kB)},
        Case{"plain", 256, kBf16, kBf16, "f32", false, along(0, 0, 1024, 128), along(0, kB, 128, 256)},
        Case{"mixed_swizzles", 40, kBf16, kBf16, "f32", false, along(2, 512), along(0, kB, 2048, 128)},
        Case{"registers", 128, kBf16, kBf16, "f32", true, {}, along(3, kB)},
        Case{"registers_f16", 256, kF16, kF16, "f16", true, {}, along(3, kB)},
        Case{"across128", 128, kBf16, kBf16, "f32", false, across(3, 0, 8192, 1024), across(3, kB, 4096, 1024)},
        Case{"across64", 96, kF16, kF16, "f32", false, across(2, 0, 4096, 512), across(2, kB, 2048, 512)},
        Case{"across32", 48, kF16, kF16, "f16", false, across(1, 0, 1024, 256), across(1, kB, 512, 256)},
        Case{"across_plain", 64, kBf16, kBf16, "f32", false, across(0, 0, 128, 256), across(0, kB, 1024, 128)},
        Case{"a_across_b_along", 16, kBf16, kBf16, "f32", false, across(3, 0, 8192, 1024), along(3, kB)},
        Case{"registers_b_across", 200, kBf16, kBf16, "f32", true, {}, across(3, kB, 4096, 1024)},
        Case{"negated", 32, kBf16, kBf16, "f32", false, along(3, 0), along(3, kB), -1},
        Case{"overwrites", 32, kBf16, kBf16, "f32", false, along(3, 0), along(3, kB), 1, false},
        Case{"tf32", 64, kTf32, kTf32, "f32", false, along(3, 0), along(3, kB + 64)},
        Case{"tf32_registers", 32, kTf32, kTf32, "f32", true, {}, along(2, kB)},
        Case{"e4m3", 128, kE4m3, kE4m3, "f32", false, along(3, 0), along(3, kB)},
        Case{"e5m2_e4m3", 64, kE5m2, kE4m3, "f16", false, along(2, 0), along(1, kB)},
        Case{"e4m3_registers", 64, kE4m3, kE5m2, "f32", true, {}, along(3, kB)},
        Case{"s8", 128, kS8, kS8, "s32", false, along(3, 0), along(3, kB)},
        Case{"u8_s8", 32, kU8, kS8, "s32", false, along(0, 0, 1024, 128), along(3, kB), 1, true, ".satfinite"},
        Case{"s8_registers", 8, kS8, kU8, "s32", true, {}, along(3, kB), 1, false},
        Case{"b1", 64, kB1, kB1, "s32", false, along(3, 0), along(3, kB), 1, true, "", ".and.popc"}),
    [](const auto& test) { return std::string(test.param.name); });

/// Two warpgroups, of which one makes a mistake.
std::string bad_kernel(const std::string& body) {
  return kernel_text(R"(
    .shared .align 1024 .b8 s[16384];
    shr.u32 %r1, %r0, 5;
    mov.u64 %rd1, 0x4000004000000000;
)" + body);
}
constexpr const char* kMultiply =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %rd1, %rd1, 1, 1, 1, 0, 0;\n";

TEST(WgmmaFaults, AllFourWarpsHaveToCome) {
  TestRun run(bad_kernel(fmt::format("setp.eq.u32 %p1, %r1, 5;\n@%p1 bra done;\n{}done:\n", kMultiply)), 256);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::barrier_divergence);
  EXPECT_NE(run.block().fault().text.find("96 threads wait in wgmma.mma_async"), std::string::npos)
      << run.block().fault().text;
  EXPECT_NE(run.block().fault().text.find("for the other warps of the warpgroup"), std::string::npos);
}

TEST(WgmmaFaults, WarpsExecuteTheSameInstruction) {
  TestRun run(bad_kernel(fmt::format("setp.eq.u32 %p1, %r1, 1;\n@%p1 bra other;\n{0}bra done;\nother:\n{0}done:\n",
                                     kMultiply)),
              128);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::invalid_instruction);
}

TEST(WgmmaFaults, WarpsGiveTheSameDescriptors) {
  TestRun run(bad_kernel(fmt::format("cvt.u64.u32 %rd2, %r1;\nadd.u64 %rd1, %rd1, %rd2;\n{}", kMultiply)), 128);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_NE(run.block().fault().text.find("different matrix descriptors"), std::string::npos)
      << run.block().fault().text;
}

TEST(WgmmaFaults, MatricesLieInSharedMemory) {
  TestRun run(bad_kernel(fmt::format("add.u64 %rd1, %rd1, 1023;\n{}", kMultiply)), 128);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::illegal_address);
}

TEST(WgmmaFaults, ASmallBlockHasNoWarpgroup) {
  TestRun run(bad_kernel(kMultiply), 96);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::invalid_instruction);
}

TEST(Warpgroup, OperationsArePendingUntilEveryWarpHasWaited) {
  Warpgroup group;
  group.begin({.a = 1}), group.begin({.a = 2});
  for (std::uint32_t w = 0; w < 4; ++w) group.commit(w);
  group.begin({.a = 3});
  for (std::uint32_t w = 0; w < 4; ++w) group.commit(w);
  group.begin({.a = 4});  // of no group
  for (std::uint32_t w = 0; w < 3; ++w) group.wait(w, 0);
  EXPECT_EQ(group.pending().size(), 4u);
  group.wait(3, 1);  // the first group only
  ASSERT_EQ(group.pending().size(), 2u);
  EXPECT_EQ(group.pending()[0].a, 3u);
  group.wait(3, 0);
  ASSERT_EQ(group.pending().size(), 1u);
  EXPECT_EQ(group.pending()[0].a, 4u);
}

}  // namespace
}  // namespace pkb::virtual_gpu
