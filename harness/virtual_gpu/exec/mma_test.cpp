// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/test_kernel.h"
#include "harness/virtual_gpu/exec/test_matrix.h"

// mma.sync of every type, on integers that every format and every order of summation holds exactly.
namespace pkb::virtual_gpu {
namespace {

struct Case {
  int m, k;
  Format a, b;
  const char* sum;  // type of C and D
  const char* more = "";
  const char* operation = "";
};

class Mma : public testing::TestWithParam<Case> {};

TEST_P(Mma, MultipliesFragmentsAsDocumented) {
  const Case& c = GetParam();
  const int each = 32 / c.a.bits, row_blocks = c.m / 8, blocks = c.k / (4 * each);
  const bool narrow = std::string(c.sum) == "f16", integers = std::string(c.sum) == "s32";
  const int na = row_blocks * blocks, nb = blocks, nc = row_blocks * (narrow ? 1 : 2);
  std::string body = "mul.wide.u32 %rd1, %r0, 64;\nadd.s64 %rd1, %rd0, %rd1;\n";
  for (int i = 0; i < 10; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4 * i);
  body += fmt::format("mma.sync.aligned.m{}n8k{}.row.col{}.{}.{}.{}.{}{} {}, {}, {}, {};\n", c.m, c.k, c.more,
                      c.sum, c.a.name, c.b.name, c.sum, c.operation, registers("r", 30, nc),
                      registers("r", 10, na), registers("r", 14, nb), registers("r", 16, nc));
  for (int i = 0; i < nc; ++i) body += fmt::format("st.global.u32 [%rd1+{}], %r{};\n", 40 + 4 * i, 30 + i);
  TestRun run(kernel_text(body));
  const auto start = [&](int i, int j) { return (i + 2 * j) % 11 - 5; };
  const auto sum_bits = [&](int value) {
    return integers ? static_cast<std::uint32_t>(value) : encode(value, 8, 23);
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    const auto base = static_cast<std::size_t>(16 * lane);
    for (int r = 0; r < na; ++r)
      for (int e = 0; e < each; ++e)
        run.word(base + static_cast<std::size_t>(r)) |=
            encode(value_at(1, g + 8 * (r % row_blocks), 4 * each * (r / row_blocks) + t * each + e, c.a), c.a)
            << e * c.a.bits;
    for (int r = 0; r < nb; ++r)
      for (int e = 0; e < each; ++e)
        run.word(base + 4 + static_cast<std::size_t>(r)) |=
            encode(value_at(2, 4 * each * r + t * each + e, g, c.b), c.b) << e * c.b.bits;
    for (int i = 0; i < 2 * row_blocks; ++i) {
      const int value = start(g + 8 * (i / 2), 2 * t + i % 2);
      if (narrow)
        run.word(base + 6 + static_cast<std::size_t>(i / 2)) |= encode(value, 5, 10) << 16 * (i % 2);
      else
        run.word(base + 6 + static_cast<std::size_t>(i)) = sum_bits(value);
    }
  }
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 2 * row_blocks; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = 2 * (lane % 4) + i % 2;
      int sum = start(row, column);
      for (int k = 0; k < c.k; ++k) {
        const int x = value_at(1, row, k, c.a), y = value_at(2, k, column, c.b);
        sum += std::string(c.operation) == ".xor.popc" ? x ^ y : x * y;
      }
      const auto at = static_cast<std::size_t>(16 * lane + 10 + (narrow ? i / 2 : i));
      if (narrow)
        ASSERT_EQ(run.word(at) >> 16 * (i % 2) & 0xffff, encode(sum, 5, 10)) << lane << ' ' << i;
      else
        ASSERT_EQ(run.word(at), sum_bits(sum)) << lane << ' ' << i;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Types, Mma,
    testing::Values(Case{16, 16, kF16, kF16, "f32"}, Case{16, 8, kF16, kF16, "f16"},
                    Case{16, 16, kBf16, kBf16, "f32"}, Case{16, 8, kBf16, kBf16, "f32"},
                    Case{16, 4, kTf32, kTf32, "f32"}, Case{16, 8, kTf32, kTf32, "f32"},
                    Case{16, 32, kE4m3, kE5m2, "f32"}, Case{16, 32, kE5m2, kE4m3, "f16"},
                    Case{16, 16, kE4m3, kE4m3, "f32"}, Case{16, 16, kE5m2, kE5m2, "f16"},
                    Case{8, 16, kS8, kU8, "s32"}, Case{16, 16, kU8, kU8, "s32"},
                    Case{16, 32, kS8, kS8, "s32", ".satfinite"}, Case{8, 32, kS4, kS4, "s32"},
                    Case{16, 32, kU4, kS4, "s32"}, Case{16, 64, kS4, kU4, "s32"},
                    Case{8, 128, kB1, kB1, "s32", "", ".xor.popc"},
                    Case{16, 128, kB1, kB1, "s32", "", ".and.popc"},
                    Case{16, 256, kB1, kB1, "s32", "", ".xor.popc"}),
    [](const auto& test) {
      const Case& c = test.param;
      return fmt::format("m{}k{}_{}_{}_{}_{}", c.m, c.k, c.a.name, c.b.name, c.sum, test.index);
    });

TEST(MmaDoubles, MultiplyFragmentsAsDocumented) {
  for (const auto& [m, k] : {std::pair(8, 4), {16, 4}, {16, 8}, {16, 16}}) {
    const int row_blocks = m / 8, na = row_blocks * k / 4, nb = k / 4, nc = 2 * row_blocks;
    std::string body = "mul.wide.u32 %rd1, %r0, 160;\nadd.s64 %rd1, %rd0, %rd1;\n";
    for (int i = 0; i < 16; ++i) body += fmt::format("ld.global.f64 %fd{}, [%rd1+{}];\n", i, 8 * i);
    body += fmt::format("mma.sync.aligned.m{}n8k{}.row.col.f64.f64.f64.f64 {}, {}, {}, {};\n", m, k,
                        registers("fd", 20, nc), registers("fd", 0, na), registers("fd", 8, nb),
                        registers("fd", 12, nc));
    for (int i = 0; i < nc; ++i) body += fmt::format("st.global.f64 [%rd1+{}], %fd{};\n", 128 + 8 * i, 20 + i);
    TestRun run(kernel_text(body));
    const auto put = [&](int lane, int at, double value) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      const auto index = static_cast<std::size_t>(40 * lane + 2 * at);
      run.word(index) = static_cast<std::uint32_t>(bits);
      run.word(index + 1) = static_cast<std::uint32_t>(bits >> 32);
    };
    const auto left = [](int i, int j) { return 1.0 + 3 * i - 5 * j; };
    const auto right = [](int i, int j) { return 0.5 * i * j - 7; };
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int r = 0; r < na; ++r) put(lane, r, left(g + 8 * (r % row_blocks), 4 * (r / row_blocks) + t));
      for (int r = 0; r < nb; ++r) put(lane, 8 + r, right(4 * r + t, g));
      for (int i = 0; i < nc; ++i) put(lane, 12 + i, 100.0 * lane + i);
    }
    ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < nc; ++i) {
        double sum = 100.0 * lane + i;
        for (int j = 0; j < k; ++j)
          sum += left(lane / 4 + 8 * (i / 2), j) * right(j, 2 * (lane % 4) + i % 2);
        ASSERT_EQ(std::bit_cast<double>(run.quad(static_cast<std::size_t>(20 * lane + 16 + i))), sum)
            << m << ' ' << k << ' ' << lane << ' ' << i;
      }
  }
}

TEST(MmaDoubles, RoundAsAsked) {
  // 1 + 2^-60 is between 1 and the next double; -1 - 2^-60 below -1.
  for (const auto& [mode, positive, negative] :
       {std::tuple("rn", 1.0, -1.0), {"rz", 1.0, -1.0}, {"rm", 1.0, -1.0 - 0x1p-52}, {"rp", 1.0 + 0x1p-52, -1.0}})
    for (const bool minus : {false, true}) {
      TestRun run(kernel_text(fmt::format(R"(
        mov.f64 %fd1, 0d{};
        mov.f64 %fd2, 0d3e10000000000000;
        mov.f64 %fd3, 0d{};
        setp.ne.u32 %p1, %r0, 0;
        selp.f64 %fd4, 0d0000000000000000, %fd1, %p1;
        selp.f64 %fd5, 0d0000000000000000, %fd2, %p1;
        mma.sync.aligned.m8n8k4.row.col.{}.f64.f64.f64.f64 {{%fd6, %fd7}}, {{%fd4}}, {{%fd5}}, {{%fd3, %fd3}};
        @!%p1 st.global.f64 [%rd0], %fd6;)",
                                          minus ? "be10000000000000" : "3e10000000000000",
                                          minus ? "bff0000000000000" : "3ff0000000000000", mode)));
      ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
      EXPECT_EQ(std::bit_cast<double>(run.quad(0)), minus ? negative : positive) << mode;
    }
}

TEST(MmaIntegers, WrapUnlessToldToClamp) {
  for (const bool clamps : {false, true}) {
    TestRun run(kernel_text(fmt::format(R"(
      mov.u32 %r1, 0x01010101;
      mov.u32 %r2, 0x7fffffff;
      mma.sync.aligned.m8n8k16.row.col{}.s32.s8.s8.s32 {{%r3, %r4}}, {{%r1}}, {{%r1}}, {{%r2, %r2}};
      st.global.u32 [%rd0], %r3;)",
                                        clamps ? ".satfinite" : "")));
    ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
    EXPECT_EQ(run.word(0), clamps ? 0x7fffffffu : 0x8000000fu);
  }
}

// PTX ISA 9.7.14.5.1, with every combination of layouts and accumulators.
TEST(MmaQuad, MultipliesFourSmallMatrices) {
  for (const bool a_rows : {false, true})
    for (const bool b_rows : {false, true})
      for (const bool wide_c : {false, true})
        for (const bool wide_d : {false, true}) {
          if (wide_c && !wide_d) continue;
          std::string body = "mul.wide.u32 %rd1, %r0, 128;\nadd.s64 %rd1, %rd0, %rd1;\n";
          for (int i = 0; i < 12; ++i) body += fmt::format("ld.global.u32 %r{}, [%rd1+{}];\n", 10 + i, 4 * i);
          body += fmt::format("mma.sync.aligned.m8n8k4.{}.{}.{}.f16.f16.{} {}, {}, {}, {};\n",
                              a_rows ? "row" : "col", b_rows ? "row" : "col", wide_d ? "f32" : "f16",
                              wide_c ? "f32" : "f16", registers("r", 30, wide_d ? 8 : 4),
                              registers("r", 10, 2), registers("r", 12, 2),
                              registers("r", 14, wide_c ? 8 : 4));
          for (int i = 0; i < (wide_d ? 8 : 4); ++i)
            body += fmt::format("st.global.u32 [%rd1+{}], %r{};\n", 64 + 4 * i, 30 + i);
          TestRun run(kernel_text(body));
          const auto left = [](int q, int i, int j) { return (q + 3 * i + 5 * j) % 7 - 3; };
          const auto right = [](int q, int i, int j) { return (2 * q + i + 4 * j) % 9 - 4; };
          const auto start = [](int q, int i, int j) { return q + i - j; };
          const auto place = [](bool wide, int lane, int i) {
            const int upper = lane < 16 ? 0 : 4;
            return wide ? std::pair((lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1))
                        : std::pair(lane % 4 + upper, i);
          };
          const auto put = [&](int lane, int at, int value) {
            run.word(static_cast<std::size_t>(32 * lane + at / 2)) |= encode(value, 5, 10) << 16 * (at % 2);
          };
          for (int lane = 0; lane < 32; ++lane) {
            const int q = lane % 16 / 4, own = lane % 4, upper = lane < 16 ? 0 : 4;
            for (int i = 0; i < 4; ++i) {
              put(lane, i, a_rows ? left(q, own + upper, i) : left(q, i + upper, own));
              put(lane, 4 + i, b_rows ? right(q, own, i + upper) : right(q, i, own + upper));
            }
            for (int i = 0; i < 8; ++i) {
              const auto [row, column] = place(wide_c, lane, i);
              if (wide_c)
                run.word(static_cast<std::size_t>(32 * lane + 4 + i)) = encode(start(q, row, column), 8, 23);
              else
                put(lane, 8 + i, start(q, row, column));
            }
          }
          ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
          for (int lane = 0; lane < 32; ++lane)
            for (int i = 0; i < 8; ++i) {
              const auto [row, column] = place(wide_d, lane, i);
              const int q = lane % 16 / 4;
              int sum = start(q, row, column);
              for (int k = 0; k < 4; ++k) sum += left(q, row, k) * right(q, k, column);
              const std::uint32_t word = run.word(static_cast<std::size_t>(32 * lane + 16 + (wide_d ? i : i / 2)));
              ASSERT_EQ(wide_d ? word : word >> 16 * (i % 2) & 0xffff,
                        wide_d ? encode(sum, 8, 23) : encode(sum, 5, 10))
                  << a_rows << b_rows << wide_c << wide_d << ' ' << lane << ' ' << i;
            }
        }
}

TEST(Mma, NeedsAWholeWarp) {
  TestRun run(kernel_text("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r2}, "
                          "{%r3}, {%f0, %f1, %f2, %f3};"),
              48);
  ASSERT_EQ(run.run(), Block::Outcome::fault);
  EXPECT_EQ(run.block().fault().kind, Fault::Kind::invalid_instruction);
  EXPECT_NE(run.block().fault().text.find("all 32 threads"), std::string::npos) << run.block().fault().text;
}

TEST(Mma, NanIsTheOneOfTheHardware) {
  TestRun run(kernel_text(R"(
    mov.u32 %r1, 0xffc0ffc0;
    mov.f32 %f1, 0f00000000;
    mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f2, %f3, %f4, %f5}, {%r1, %r1}, {%r1}, {%f1, %f1, %f1, %f1};
    st.global.f32 [%rd0], %f2;)"));
  ASSERT_EQ(run.run(), Block::Outcome::finished);
  EXPECT_EQ(run.word(0), 0x7fffffffu);
}

TEST(MoveMatrix, Transposes) {
  TestRun run(kernel_text(R"(
    mul.lo.u32 %r1, %r0, 2;
    mad.lo.u32 %r2, %r1, 65537, 65536;
    movmatrix.sync.aligned.m8n8.trans.b16 %r3, %r2;
    mul.wide.u32 %rd1, %r0, 4;
    add.s64 %rd1, %rd0, %rd1;
    st.global.u32 [%rd1], %r3;)"));  // element n of the matrix is n
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.block().fault().text;
  for (unsigned i = 0; i < 8; ++i)
    for (unsigned j = 0; j < 8; ++j)
      EXPECT_EQ(run.word(4 * i + j / 2) >> 16 * (j % 2) & 0xffff, 8 * j + i) << i << ' ' << j;
}

}  // namespace
}  // namespace pkb::virtual_gpu
