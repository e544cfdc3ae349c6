// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "harness/virtual_gpu/exec/tensor_map.h"
#include "harness/virtual_gpu/exec/test_kernel.h"

namespace pkb::virtual_gpu {
namespace {

using Type = TensorMap::Type;

/// A kernel whose one thread has the generic address of the tensor map `map`, a parameter, in %rd1, zeroed
/// shared memory `s` of 4 KiB on a boundary of 1 KiB, and an initialised mbarrier `bar`; `body` follows. The
/// whole of `s` is copied to the buffer at the end.
std::string tensor_kernel(const std::string& body) {
  return fmt::format(R"(.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 buffer, .param .align 64 .b8 map[128])
{{
.reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<16>; .reg .b64 %rd<16>;
.shared .align 1024 .b8 s[4096];
.shared .align 8 .b64 bar;
ld.param.u64 %rd0, [buffer];
mov.b64 %rd2, map;
cvta.param.u64 %rd1, %rd2;
mov.u32 %r10, 0;
mov.u32 %r11, s;
mbarrier.init.shared::cta.b64 [bar], 1;
{}
copy_out:
add.u32 %r12, %r11, %r10;
ld.shared.u32 %r13, [%r12];
cvt.u64.u32 %rd4, %r10;
add.s64 %rd5, %rd0, %rd4;
st.global.u32 [%rd5], %r13;
add.u32 %r10, %r10, 4;
setp.lt.u32 %p0, %r10, 4096;
@%p0 bra copy_out;
ret;
}}
)",
                     body);
}

const std::string kWait = R"(
mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], {};
wait:
mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
@!%p1 bra wait;
)";

/// A tensor of 64 rows of 32 words, each its index plus 1000, behind which the buffer for results lies.
struct TensorRun : TestRun {
  static constexpr std::uint32_t kColumns = 32, kRows = 64, kResults = kColumns * kRows;

  explicit TensorRun(const std::string& body) : TestRun(tensor_kernel(body), 1, kResults + 2048 + 64) {
    for (std::uint32_t i = 0; i < kResults; ++i) tensor(i) = 1000 + i;
    map.address = tensor_address();
    map.rank = 2;
    map.type = Type::u32;
    map.last = {kColumns - 1, kRows - 1};
    map.stride = {4 * kColumns};
    map.box = {8, 4};
    map.step = {1, 1};
  }
  std::uint64_t tensor_address() const { return (address() + 127) / 128 * 128; }
  std::uint32_t& tensor(std::size_t index) { return word((tensor_address() - address()) / 4 + index); }
  /// Word `index` of the shared memory after the run.
  std::uint32_t shared(std::size_t index) { return tensor(kResults + index); }
  Block::Outcome run_with_map(std::uint64_t seed = 0) {
    std::vector<std::byte> bytes(launch().kernel->parameter_bytes);
    const std::uint64_t results = tensor_address() + 4 * kResults;
    std::memcpy(bytes.data(), &results, sizeof results);
    std::memcpy(bytes.data() + 64, &map, sizeof map);
    launch().parameters = bytes;
    return run(seed);
  }
  std::string fault_text() {
    EXPECT_EQ(run_with_map(), Block::Outcome::fault);
    return block().fault().text;
  }

  TensorMap map;
};

const std::string kLoad =
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%rd1, {%r1, "
    "%r2}], [bar];\n";

std::string load_at(int x, int y) {
  return fmt::format("mov.u32 %r1, {};\nmov.u32 %r2, {};\n", x, y) + kLoad +
         fmt::format(fmt::runtime(kWait), 128);
}

TEST(TensorCopy, LoadsABoxAndFillsWhatIsOutside) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    TensorRun run(load_at(28, -1));
    ASSERT_EQ(run.run_with_map(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t y = 0; y < 4; ++y)
      for (std::uint32_t x = 0; x < 8; ++x)
        EXPECT_EQ(run.shared(8 * y + x), y == 0 || x >= 4 ? 0 : 1000 + 32 * (y - 1) + 28 + x)
            << x << ' ' << y;
    EXPECT_EQ(run.shared(32), 0u);
  }
}

TEST(TensorCopy, SwizzlesByTheSharedAddress) {
  TensorRun run(
      "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nadd.u32 %r3, %r11, 256;\n"
      "cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r3], [%rd1, {%r1, %r2}], "
      "[bar];\n" +
      fmt::format(fmt::runtime(kWait), 1024));
  run.map.box = {32, 8};
  run.map.swizzle = TensorMap::Swizzle::bytes_128;
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t row = 0; row < 8; ++row)
    for (std::uint32_t x = 0; x < 32; ++x) {
      const std::uint32_t line = row + 2, chunk = (x / 4) ^ (line % 8);
      EXPECT_EQ(run.shared(32 * line + 4 * chunk + x % 4), 1000 + 32 * row + x);
    }
}

TEST(TensorCopy, FillsWithNan) {
  TensorRun run(load_at(28, 63));
  run.map.type = Type::f32;
  run.map.fill = TensorMap::Fill::nan;
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(run.shared(i), i < 4 ? 1000u + 63 * 32 + 28 + i : 0x7ff77ff7u);
}

TEST(TensorCopy, RoundsTf32ButNotWhatItFills) {
  TensorRun run(load_at(0, 63));
  run.map.type = Type::tf32;
  run.map.fill = TensorMap::Fill::nan;
  for (std::uint32_t i = 0; i < 8; ++i) run.tensor(63 * 32 + i) = 0x3f800000 + 0x1001 * i;
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  const std::uint32_t expected[] = {0, 0x2000, 0x2000, 0x4000, 0x4000, 0x6000, 0x6000, 0x8000};
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(run.shared(i), 0x3f800000 + expected[i]) << i;
  EXPECT_EQ(run.shared(8), 0x7ff77ff7u);
}

// Shared memory word i holds i + 1.
const std::string kFillShared = R"(
fill:
add.u32 %r12, %r11, %r10;
shr.u32 %r13, %r10, 2;
add.u32 %r13, %r13, 1;
st.shared.u32 [%r12], %r13;
add.u32 %r10, %r10, 4;
setp.lt.u32 %p0, %r10, 4096;
@%p0 bra fill;
mov.u32 %r10, 0;
fence.proxy.async.shared::cta;
)";

TEST(TensorCopy, StoresOnlyWhatIsInside) {
  TensorRun run(kFillShared +
                "mov.u32 %r1, 28;\nmov.u32 %r2, 62;\n"
                "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd1, {%r1, %r2}], [s];\n"
                "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < TensorRun::kResults; ++i) {
    const std::uint32_t y = i / 32, x = i % 32;
    EXPECT_EQ(run.tensor(i), y >= 62 && x >= 28 ? 8 * (y - 62) + x - 28 + 1 : 1000 + i) << i;
  }
}

struct Reduction {
  const char* operation;
  Type type;
  std::uint32_t (*expected)(std::uint32_t old, std::uint32_t operand);
};
void PrintTo(const Reduction& one, std::ostream* out) { *out << one.operation; }

class TensorReduction : public testing::TestWithParam<Reduction> {};

TEST_P(TensorReduction, CombinesElements) {
  const Reduction& one = GetParam();
  TensorRun run(
      kFillShared + "mov.u32 %r1, 0;\nmov.u32 %r2, 1;\n" +
      fmt::format("cp.reduce.async.bulk.tensor.2d.global.shared::cta.{}.bulk_group [%rd1, {{%r1, %r2}}], "
                  "[s];\n",
                  one.operation) +
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n");
  run.map.type = one.type;
  for (std::uint32_t i = 32; i < 40; ++i) run.tensor(i) = (i - 36) * 3;
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < 8; ++i) EXPECT_EQ(run.tensor(32 + i), one.expected((i - 4) * 3, i + 1)) << i;
  EXPECT_EQ(run.tensor(40), 1040u);
}

INSTANTIATE_TEST_SUITE_P(
    All, TensorReduction,
    testing::Values(
        Reduction{"add", Type::u32, [](std::uint32_t a, std::uint32_t b) { return a + b; }},
        Reduction{"min", Type::u32, [](std::uint32_t a, std::uint32_t b) { return std::min(a, b); }},
        Reduction{"max", Type::s32,
                  [](std::uint32_t a, std::uint32_t b) {
                    return static_cast<std::uint32_t>(
                        std::max(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)));
                  }},
        Reduction{"inc", Type::u32, [](std::uint32_t a, std::uint32_t b) { return a >= b ? 0 : a + 1; }},
        Reduction{"dec", Type::u32,
                  [](std::uint32_t a, std::uint32_t b) { return a == 0 || a > b ? b : a - 1; }},
        Reduction{"and", Type::u32, [](std::uint32_t a, std::uint32_t b) { return a & b; }},
        Reduction{"or", Type::s32, [](std::uint32_t a, std::uint32_t b) { return a | b; }},
        Reduction{"xor", Type::u32, [](std::uint32_t a, std::uint32_t b) { return a ^ b; }}),
    [](const auto& test) { return test.param.operation + std::to_string(test.index); });

TEST(TensorCopy, Im2colLoadsPixelsOfAFilter) {
  TensorRun run(
      "mov.u32 %r1, 0;\nmov.u32 %r2, 1;\nmov.u32 %r3, -1;\nmov.u32 %r4, 0;\nmov.b16 %h1, 1;\nmov.b16 %h2, "
      "0;\ncp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [s], [%rd1, "
      "{%r1, %r2, %r3, %r4}], [bar], {%h1, %h2};\n" +
      fmt::format(fmt::runtime(kWait), 6 * 16));
  run.map.rank = 4;  // 4 channels, 4 x 4 pixels, 32 images
  run.map.last = {3, 3, 3, 31};
  run.map.stride = {16, 64, 256};
  run.map.mode = TensorMap::Mode::im2col;
  run.map.step = {1, 1, 1, 1};
  run.map.channels = 4;
  run.map.pixels = 6;
  run.map.lower = {-1, -1};
  run.map.upper = {-1, -1};
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  // Bases (1,-1), (2,-1), (-1,0), (0,0), (1,0), (2,0), each one further in W.
  const int pixels[6][2] = {{2, -1}, {3, -1}, {0, 0}, {1, 0}, {2, 0}, {3, 0}};
  for (std::uint32_t p = 0; p < 6; ++p)
    for (std::uint32_t c = 0; c < 4; ++c)
      EXPECT_EQ(run.shared(4 * p + c), pixels[p][1] < 0
                                           ? 0
                                           : 1000 + 16 * static_cast<std::uint32_t>(pixels[p][1]) +
                                                 4 * static_cast<std::uint32_t>(pixels[p][0]) + c);
}

// Each of two blocks loads a box for both, the second behind the first.
TEST(TensorCopy, MulticastReachesEveryBlockAndItsMbarrier) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    TensorRun run(R"(
      mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 256;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      mov.u32 %r5, %cluster_ctarank;
      mov.u32 %r1, 0;
      mul.lo.u32 %r2, %r5, 4;
      mad.lo.u32 %r3, %r5, 128, %r11;
      mov.b16 %h1, 3;
      cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r3], [%rd1, {%r1, %r2}], [bar], %h1;
      wait:
      mbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;
      @!%p1 bra wait;
      barrier.cluster.arrive.aligned;
      barrier.cluster.wait.aligned;
      mul.wide.u32 %rd6, %r5, 4096;
      add.s64 %rd0, %rd0, %rd6;
    )");
    run.launch().grid = run.launch().cluster = {2, 1, 1};
    ASSERT_EQ(run.run_with_map(seed), Block::Outcome::finished) << run.block().fault().text;
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      for (std::uint32_t i = 0; i < 64; ++i)
        EXPECT_EQ(run.shared(1024 * rank + i), 1000 + 32 * (i / 8) + i % 8) << rank << ' ' << i;
  }
}

TEST(TensorCopy, ReplacedFieldsOfACopyInSharedMemoryCount) {
  TensorRun run(R"(
    .reg .b32 %m<4>;
    add.u32 %r3, %r11, 2048;
    mov.u32 %r4, 0;
    take:
    cvt.u64.u32 %rd6, %r4;
    add.s64 %rd7, %rd1, %rd6;
    ld.u32 %r5, [%rd7];
    add.u32 %r6, %r3, %r4;
    st.shared.u32 [%r6], %r5;
    add.u32 %r4, %r4, 4;
    setp.lt.u32 %p2, %r4, 128;
    @%p2 bra take;
    mov.u32 %r7, 4;
    tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r3], 0, %r7;
    mov.u64 %rd8, 256;
    tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%r3], 0, %rd8;
    mov.u32 %r7, 2;
    tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r3], 1, %r7;
    tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%r3], 1;
    tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%r3], 7;
    add.s64 %rd9, %rd0, 1024;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd9], [%r3], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%rd9], 128;
    mov.u32 %r1, 0;
    mov.u32 %r2, 0;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [s], [%rd9, {%r1, %r2}], [bar];
    )" + fmt::format(fmt::runtime(kWait), 64));
  ASSERT_EQ(run.run_with_map(), Block::Outcome::finished) << run.block().fault().text;
  for (std::uint32_t i = 0; i < 16; ++i)
    EXPECT_EQ(run.shared(i), i < 8 ? 1000 + 64 * (i / 4) + i % 4 : 0x7ff77ff7) << i;
}

TEST(TensorCopy, MisuseIsAFaultWithASentence) {
  {
    TensorRun run(
        "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\nadd.u32 %r3, %r11, 64;\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];\n");
    EXPECT_EQ(run.fault_text(),
              "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group with address 0x40, which is not a "
              "multiple of 128");
  }
  {
    TensorRun run(load_at(0, 0));
    run.map.rank = 1;
    EXPECT_NE(run.fault_text().find("2 coordinates for a tensor of 1 dimensions"), std::string::npos);
  }
  {
    TensorRun run(load_at(0, 0));
    run.map = TensorMap();
    run.map.mark = 0;
    EXPECT_NE(run.fault_text().find("cannot be used: it is no tensor map"), std::string::npos);
  }
  {
    TensorRun run(load_at(0, 0));
    run.map.address += std::uint64_t{1} << 40;
    EXPECT_NE(run.fault_text().find("read of 32 bytes at"), std::string::npos);
  }
  {
    TensorRun run(
        "mov.u32 %r1, 0;\nmov.u32 %r2, 0;\ncp.reduce.async.bulk.tensor.2d.global.shared::cta.inc.bulk_group "
        "[%rd1, {%r1, %r2}], [s];\n");
    run.map.type = Type::f32;
    EXPECT_NE(run.fault_text().find("of elements of this type"), std::string::npos);
  }
  {
    TensorRun run(load_at(0, 0));
    run.map.box = {32, 64};  // 8 KiB into 4 KiB
    EXPECT_NE(run.fault_text().find("shared address"), std::string::npos);
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu
