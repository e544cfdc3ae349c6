// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMulticast = 0x123450000000;
constexpr std::size_t kApart = 1024;  // words between replicas, the first of which begins at word kApart

/// A block of one thread whose buffer holds three replicas; %rd1 is their multicast address, %rd0 the buffer, where
/// results go.
class Multimem {
 public:
  explicit Multimem(const std::string& body)
      : x_run(kernel_text("ld.param.u64 %rd1, [other];\n" + body), 1, 5 * kApart) {
    std::vector<std::uint64_t> replicas;
    for (std::size_t rank = 0; rank < 3; ++rank) replicas.push_back(x_run.address() + 4 * kApart * (rank + 1));
    x_run.memory().add({.base = kMulticast, .bytes = 4 * kApart, .name = "the multicast address of symmetric #0",
                        .owner = 0, .replicas = replicas});
    x_run.set_parameters({x_run.address(), kMulticast});
  }
  std::uint32_t& word(std::size_t rank, std::size_t index) { return x_run.word(kApart * (rank + 1) + index); }
  void set(std::size_t index, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    word(0, index) = a;
    word(1, index) = b;
    word(2, index) = c;
  }
  std::uint32_t result(std::size_t index) { return x_run.word(index); }
  Block::Outcome run() { return x_run.run(); }
  std::string fault() { return x_run.block().fault().text; }

 private:
  TestRun x_run;
};

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

struct Reduction {
  const char* name;
  const char* type;  ///< of the instruction, with its operation
  std::uint32_t a, b, c, expected;
};
class LoadReduce : public testing::TestWithParam<Reduction> {};

TEST_P(LoadReduce, OfOneWord) {
  const Reduction& each = GetParam();
  Multimem run(std::string("multimem.ld_reduce.relaxed.sys.global.") + each.type +
               " %r1, [%rd1+8];\nst.global.u32 [%rd0], %r1;");
  run.set(2, each.a, each.b, each.c);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.fault();
  EXPECT_EQ(run.result(0), each.expected);
}

// The pairs of 16-bit floats: 1.0 is 3c00 in half and 3f80 in bfloat16.
INSTANTIATE_TEST_SUITE_P(
    Types, LoadReduce,
    testing::Values(Reduction{"AddUnsigned", "add.u32", 1, 2, 0xffffffff, 2},
                    Reduction{"AddSigned", "add.s32", 1, 2, 0xffffffff, 2},
                    Reduction{"MinUnsigned", "min.u32", 1, 2, 0xffffffff, 1},
                    Reduction{"MinSigned", "min.s32", 1, 2, 0xffffffff, 0xffffffff},
                    Reduction{"MaxSigned", "max.s32", 1, 2, 0xffffffff, 2},
                    Reduction{"And", "and.b32", 0b1110, 0b0111, 0b1111, 0b0110},
                    Reduction{"Or", "or.b32", 0b1000, 0b0001, 0b0010, 0b1011},
                    Reduction{"Xor", "xor.b32", 0b1110, 0b0111, 0b1111, 0b0110},
                    Reduction{"AddFloat", "add.f32", bits(1.5f), bits(2.25f), bits(-8), bits(-4.25f)},
                    Reduction{"AddHalves", "add.f16x2", 0x3c003c00, 0x3c004000, 0x40003c00, 0x44004400},
                    Reduction{"AddBrains", "add.bf16x2", 0x3f803f80, 0x3f804000, 0x40003f80, 0x40804080},
                    // 2^-9 twice is 2^-8, which bf16 keeps beside 1 only if it is not rounded away in between:
                    // 1 + 2^-8 lies halfway to 1 + 2^-7 and goes to even, 1 + 3 * 2^-9 goes up.
                    Reduction{"AddsBrainsBeforeRounding", "add.acc::f32.bf16x2", 0x3f803f80, 0x3b003b00, 0x3b003b80,
                              0x3f803f81},
                    Reduction{"MinHalves", "min.f16x2", 0x3c00bc00, 0x40003c00, 0x7e004000, 0x3c00bc00},
                    Reduction{"MaxBrains", "max.bf16x2", 0x3f80bf80, 0x40003f80, 0x7fc0bf80, 0x40003f80}),
    [](const auto& test) { return test.param.name; });

TEST(Multimem, LoadsVectors) {
  Multimem run(
      "multimem.ld_reduce.weak.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];\n"
      "st.global.v4.f32 [%rd0], {%f1, %f2, %f3, %f4};\n"
      "multimem.ld_reduce.acquire.gpu.global.max.s64 %rd2, [%rd1+16];\nst.global.u64 [%rd0+16], %rd2;");
  for (std::size_t i = 0; i < 4; ++i) run.set(i, bits(static_cast<float>(i)), bits(10), bits(100));
  run.set(4, 5, 6, 7);
  run.set(5, 0, 1, 0x80000000);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.fault();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(run.result(i), bits(static_cast<float>(110 + i)));
  EXPECT_EQ(run.result(4), 6u);
  EXPECT_EQ(run.result(5), 1u);
}

TEST(Multimem, StoresToEveryReplica) {
  Multimem run(
      "mov.f32 %f1, 0f3F800000;\nmov.f32 %f2, 0f40000000;\n"
      "multimem.st.relaxed.sys.global.v2.f32 [%rd1], {%f1, %f2};\n"
      "multimem.st.global.f32 [%rd1+12], %f2;");
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.fault();
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(run.word(rank, 0), bits(1));
    EXPECT_EQ(run.word(rank, 1), bits(2));
    EXPECT_EQ(run.word(rank, 2), 0u);
    EXPECT_EQ(run.word(rank, 3), bits(2));
  }
}

TEST(Multimem, ReducesIntoEveryReplica) {
  Multimem run(
      "mov.u32 %r1, 5;\nmultimem.red.release.sys.global.add.u32 [%rd1], %r1;\n"
      "mov.u32 %r2, 0x3c003c00;\nmultimem.red.relaxed.sys.global.add.f16x2 [%rd1+4], %r2;");
  run.set(0, 1, 2, 3);
  run.set(1, 0x3c003c00, 0, 0x40004000);
  ASSERT_EQ(run.run(), Block::Outcome::finished) << run.fault();
  EXPECT_EQ(run.word(0, 0), 6u);
  EXPECT_EQ(run.word(1, 0), 7u);
  EXPECT_EQ(run.word(2, 0), 8u);
  EXPECT_EQ(run.word(0, 1), 0x40004000u);
  EXPECT_EQ(run.word(1, 1), 0x3c003c00u);
  EXPECT_EQ(run.word(2, 1), 0x42004200u);
}

TEST(Multimem, AddressesAreForItAlone) {
  Multimem plain("ld.global.u32 %r1, [%rd1];\nst.global.u32 [%rd0], %r1;");
  ASSERT_EQ(plain.run(), Block::Outcome::fault);
  EXPECT_THAT(plain.fault(), HasSubstr("the multicast address of symmetric #0, which is for multimem instructions only"));
  Multimem ordinary("multimem.ld_reduce.global.add.u32 %r1, [%rd0];\nst.global.u32 [%rd0], %r1;");
  ASSERT_EQ(ordinary.run(), Block::Outcome::fault);
  EXPECT_THAT(ordinary.fault(), HasSubstr("which is no multicast address but in buffer"));
}

TEST(Multimem, AccessesAreChecked) {
  Multimem beyond("multimem.ld_reduce.global.add.u32 %r1, [%rd1+4096];\nst.global.u32 [%rd0], %r1;");
  ASSERT_EQ(beyond.run(), Block::Outcome::fault);
  EXPECT_THAT(beyond.fault(), HasSubstr("after the end of the multicast address"));
  Multimem crooked("multimem.ld_reduce.global.add.v2.f32 {%f1, %f2}, [%rd1+4];\nst.global.f32 [%rd0], %f1;");
  ASSERT_EQ(crooked.run(), Block::Outcome::fault);
  EXPECT_THAT(crooked.fault(), HasSubstr("not a multiple of 8"));
}

}  // namespace
}  // namespace pkb::virtual_gpu
