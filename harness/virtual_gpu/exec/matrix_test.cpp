// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"

// Matrices of small integers, which every format and every order of summation holds exactly.
namespace pkb::virtual_gpu {
namespace {

int left(int i, int k) { return (3 * i + 5 * k) % 7 - 3; }
int right(int k, int j) { return (2 * k + 7 * j) % 9 - 4; }
int start(int i, int j) { return (i + 2 * j) % 11; }

int product(int i, int j, int depth) {
  int sum = start(i, j);
  for (int k = 0; k < depth; ++k) sum += left(i, k) * right(k, j);
  return sum;
}

// Formats by hand: integers up to 2048 only.
std::uint16_t half(int value) {
  if (value == 0) return 0;
  const auto magnitude = static_cast<unsigned>(std::abs(value));
  const int exponent = std::bit_width(magnitude) - 1;
  const unsigned fraction = (magnitude << (10 - exponent)) & 0x3ff;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000u : 0u) | static_cast<unsigned>(exponent + 15) << 10 |
                                    fraction);
}
std::uint16_t brain(int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}
std::uint32_t bits(int value) { return std::bit_cast<std::uint32_t>(static_cast<float>(value)); }

std::string registers(const std::string& prefix, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return "{" + text + "}";
}

/// Writes 16-bit elements into the buffer; `at` counts elements.
void put(TestRun& run, std::size_t at, std::uint16_t value) {
  std::uint32_t& word = run.word(at / 2);
  word = at % 2 == 0 ? (word & 0xffff0000u) | value : (word & 0xffffu) | std::uint32_t{value} << 16;
}
std::uint16_t get(TestRun& run, std::size_t at) {
  return static_cast<std::uint16_t>(run.word(at / 2) >> 16 * (at % 2));
}

struct WmmaCase {
  int m, n;
  bool a_rows, b_rows, d_rows, is_brain, wide;
};

class Wmma : public testing::TestWithParam<WmmaCase> {};

TEST_P(Wmma, MultipliesWhatItLoadsAndStoresIt) {
  constexpr int k = 16;
  const WmmaCase& c = GetParam();
  // Strides beyond the matrices, in elements; A at byte 0, B at 4096, C at 8192.
  const int lda = (c.a_rows ? k : c.m) + 8, ldb = (c.b_rows ? c.n : k) + 16, ldc = (c.d_rows ? c.n : c.m) + 8;
  const auto order = [](bool rows) { return rows ? "row" : "col"; };
  const std::string shape = fmt::format("m{}n{}k16", c.m, c.n), type = c.is_brain ? "bf16" : "f16";
  const std::string sum = c.wide ? "f32" : "f16";
  const int na = c.is_brain ? c.m * k / 64 : 8, nb = c.is_brain ? c.n * k / 64 : 8, nc = c.wide ? 8 : 4;
  std::string body = fmt::format("wmma.load.a.sync.aligned.{}.{}.global.{} {}, [%rd0], {};\n",
                                 order(c.a_rows), shape, type, registers("r", 10, na), lda);
  body += fmt::format("wmma.load.b.sync.aligned.{}.{}.{} {}, [%rd0+4096], {};\n", order(c.b_rows), shape,
                      type, registers("r", 20, nb), ldb);
  body += fmt::format("wmma.load.c.sync.aligned.{}.{}.global.{} {}, [%rd0+8192], {};\n", order(c.d_rows),
                      shape, sum, registers("r", 30, nc), ldc);
  body += fmt::format("wmma.mma.sync.aligned.{}.{}.{}.{} {}, {}, {}, {};\n", order(c.a_rows), order(c.b_rows),
                      shape, c.is_brain ? "f32.bf16.bf16.f32" : sum + "." + sum, registers("r", 40, nc),
                      registers("r", 10, na), registers("r", 20, nb), registers("r", 30, nc));
  body += fmt::format("wmma.store.d.sync.aligned.{}.{}.global.{} [%rd0+8192], {}, {};\n", order(c.d_rows),
                      shape, sum, registers("r", 40, nc), ldc);
  TestRun run(kernel_text(body));
  const auto at = [](bool rows, int i, int j, int stride) {
    return static_cast<std::size_t>(rows ? i * stride + j : j * stride + i);
  };
  const auto format = [&](int value) { return c.is_brain ? brain(value) : half(value); };
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < k; ++j) put(run, at(c.a_rows, i, j, lda), format(left(i, j)));
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < c.n; ++j) put(run, 2048 + at(c.b_rows, i, j, ldb), format(right(i, j)));
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < c.n; ++j)
      if (c.wide)
        run.word(2048 + at(c.d_rows, i, j, ldc)) = bits(start(i, j));
      else
        put(run, 4096 + at(c.d_rows, i, j, ldc), half(start(i, j)));
  const std::size_t beside =
      2048 + static_cast<std::size_t>(c.d_rows ? c.n : c.m);  // in the gap of a wide line
  if (c.wide) run.word(beside) = 12345;
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < c.n; ++j)
      if (c.wide)
        ASSERT_EQ(run.word(2048 + at(c.d_rows, i, j, ldc)), bits(product(i, j, k))) << i << ' ' << j;
      else
        ASSERT_EQ(get(run, 4096 + at(c.d_rows, i, j, ldc)), half(product(i, j, k))) << i << ' ' << j;
  if (c.wide) {
    EXPECT_EQ(run.word(beside), 12345u);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Wmma,
                         testing::Values(WmmaCase{16, 16, true, false, true, false, true},
                                         WmmaCase{16, 16, false, true, false, false, false},
                                         WmmaCase{16, 16, true, true, true, true, true},
                                         WmmaCase{32, 8, true, true, false, false, true},
                                         WmmaCase{32, 8, false, false, true, true, true},
                                         WmmaCase{8, 32, true, false, true, false, false},
                                         WmmaCase{8, 32, false, true, false, true, true}));

// PTX ISA 9.7.14.5.8: which elements thread 4 * g + t holds.
struct MmaCase {
  int k;
  bool is_brain, wide;
};

class Mma : public testing::TestWithParam<MmaCase> {};

TEST_P(Mma, FragmentsLieAsDocumented) {
  const MmaCase& c = GetParam();
  const int na = c.k / 4, nb = c.k / 8, nc = c.wide ? 4 : 2;
  const std::string type = c.is_brain ? "bf16" : "f16", sum = c.wide ? "f32" : "f16";
  std::string body = "mul.wide.u32 %rd1, %r0, 64;\nadd.s64 %rd1, %rd0, %rd1;\n";
  for (int i = 0; i < na; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4 * i);
  for (int i = 0; i < nb; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 20 + i, 16 + 4 * i);
  for (int i = 0; i < nc; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 30 + i, 24 + 4 * i);
  body += fmt::format("mma.sync.aligned.m16n8k{}.row.col.{}.{}.{}.{} {}, {}, {}, {};\n", c.k, sum, type, type,
                      sum, registers("r", 30, nc), registers("r", 10, na), registers("r", 20, nb),
                      registers("r", 30, nc));
  for (int i = 0; i < nc; ++i) body += fmt::format("st.global.u32 [%rd1+{}], %r{};\n", 40 + 4 * i, 30 + i);
  TestRun run(kernel_text(body));
  const auto format = [&](int value) { return c.is_brain ? brain(value) : half(value); };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const auto base = static_cast<std::size_t>(16 * lane);
    const auto pair = [&](std::size_t reg, int low, int high) {
      put(run, 2 * (base + reg), format(low));
      put(run, 2 * (base + reg) + 1, format(high));
    };
    pair(0, left(g, 2 * t), left(g, 2 * t + 1));
    pair(1, left(g + 8, 2 * t), left(g + 8, 2 * t + 1));
    pair(4, right(2 * t, g), right(2 * t + 1, g));
    if (c.k == 16) {
      pair(2, left(g, 2 * t + 8), left(g, 2 * t + 9));
      pair(3, left(g + 8, 2 * t + 8), left(g + 8, 2 * t + 9));
      pair(5, right(2 * t + 8, g), right(2 * t + 9, g));
    }
    for (int i = 0; i < 4; ++i) {
      const int value = start(i < 2 ? g : g + 8, 2 * t + i % 2);
      if (c.wide)
        run.word(base + 6 + static_cast<std::size_t>(i)) = bits(value);
      else
        put(run, 2 * (base + 6) + static_cast<std::size_t>(i), half(value));
    }
  }
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const int value = product(lane / 4 + (i < 2 ? 0 : 8), 2 * (lane % 4) + i % 2, c.k);
      const auto at = static_cast<std::size_t>(16 * lane + 10);
      if (c.wide)
        ASSERT_EQ(run.word(at + static_cast<std::size_t>(i)), bits(value)) << lane << ' ' << i;
      else
        ASSERT_EQ(get(run, 2 * at + static_cast<std::size_t>(i)), half(value)) << lane << ' ' << i;
    }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Mma,
                         testing::Values(MmaCase{16, false, true}, MmaCase{16, false, false},
                                         MmaCase{16, true, true}, MmaCase{8, false, true},
                                         MmaCase{8, false, false}, MmaCase{8, true, true}));

/// Shared memory with half s[i] = i; each lane has the address of row `lane` of 16 bytes in %r3.
constexpr const char* kRows = R"(
    .shared .align 16 .b8 s[1024];
    mov.u32 %r1, s;
    mul.lo.u32 %r2, %r0, 16;
    add.u32 %r3, %r1, %r2;
    mul.lo.u32 %r4, %r0, 8;
    mad.lo.u32 %r5, %r4, 65537, 65536;
    st.shared.u32 [%r3], %r5;
    add.u32 %r5, %r5, 131074;
    st.shared.u32 [%r3+4], %r5;
    add.u32 %r5, %r5, 131074;
    st.shared.u32 [%r3+8], %r5;
    add.u32 %r5, %r5, 131074;
    st.shared.u32 [%r3+12], %r5;
    bar.sync 0;
    mul.wide.u32 %rd1, %r0, 16;
    add.s64 %rd1, %rd0, %rd1;
)";

TEST(LoadMatrix, EachThreadGetsTwoElementsOfEveryMatrix) {
  for (const bool transposed : {false, true})
    for (const int count : {1, 2, 4}) {
      std::string body = kRows;
      body += fmt::format("ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {}, [%r3];\n", count,
                          transposed ? ".trans" : "", registers("r", 10, count));
      for (int i = 0; i < count; ++i) body += fmt::format("st.global.u32 [%rd1+{}], %r{};\n", 4 * i, 10 + i);
      TestRun run(kernel_text(body));
      ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) {
          const unsigned r = lane / 4, c = 2 * (lane % 4);
          const unsigned low = 64 * i + (transposed ? 8 * c + r : 8 * r + c),
                         high = low + (transposed ? 8 : 1);
          ASSERT_EQ(run.word(4 * lane + i), low | high << 16) << lane << ' ' << i;
        }
    }
}

TEST(StoreMatrix, UndoesLoadMatrix) {
  for (const std::string trans : {"", ".trans"}) {
    TestRun run(kernel_text(std::string(kRows) + fmt::format(R"(
      ldmatrix.sync.aligned.m8n8.x4{0}.shared::cta.b16 {1}, [%r3];
      stmatrix.sync.aligned.m8n8.x4{0}.shared.b16 [%r3+512], {1};
      bar.sync 0;
      ld.shared.v4.u32 {1}, [%r3+512];
      st.global.v4.u32 [%rd1], {1};)",
                                                             trans, registers("r", 10, 4))));
    ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
    for (unsigned i = 0; i < 256; ++i) ASSERT_EQ(get(run, i), i);
  }
}

TEST(LoadMatrix, RowsAreAligned) {
  TestRun run(kernel_text(std::string(kRows) + "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r10}, [%r3+8];"));
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::misaligned);
}

}  // namespace
}  // namespace pkb::virtual_gpu
