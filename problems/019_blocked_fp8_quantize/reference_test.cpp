// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "reference/ops.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "019_blocked_fp8_quantize";

ContextOptions blocks_of(int size) { return {.parameters = {{"block_size", size}}}; }

/// One rank, one row of blocks of 8.
void expect_codes(const Row& x, const Row& scales, const Row& codes, DType dtype = DType::bf16) {
  with_ranks(1, blocks_of(8), [&](Context& ctx) {
    const auto columns = static_cast<std::int64_t>(x.size());
    const Tensor local = Tensor::from_values(x, {1, columns}, dtype);
    for (const Tensor& each : {local, local.to(DType::f64)}) {
      const Tensors out = ProblemLibrary(kProblem).reference(ctx, {{"local_tensor", each}});
      EXPECT_EQ(out["y_global"].dtype(), DType::e4m3);
      EXPECT_EQ(out["y_global"].values(), codes);
      EXPECT_EQ(out["s_global"].dtype(), DType::f32);
      EXPECT_EQ(out["s_global"].values(), scales);
    }
  });
}

TEST(BlockedFp8Quantize, RoundsToNearestEvenDownToSubnormals) {
  expect_codes({448, 17, 19, 336, 0x1p-10, 3 * 0x1p-10, 0x1p-9, -448}, {1},
               {448, 16, 20, 320, 0, 0x1p-8, 0x1p-9, -448});
}

TEST(BlockedFp8Quantize, ZeroBlocksHaveScaleZero) {
  expect_codes({0, 0, 0, 0, 0, 0, 0, 0, 448, 0, 0, 0, 0, 0, 0, 0}, {0, 1},
               {0, 0, 0, 0, 0, 0, 0, 0, 448, 0, 0, 0, 0, 0, 0, 0});
}

TEST(BlockedFp8Quantize, TheScaleIsAQuotientInFp32) {
  expect_codes({1, 0.75, 0, 0, 0, 0, 0, 0}, {double(1.0f / 448.0f)}, {448, 320, 0, 0, 0, 0, 0, 0});
  EXPECT_NEAR(1.0f / 448.0f, 0.0022321430, 1e-10);
  const double tiny = 0x1p-20, huge = 1.5 * 0x1p127;
  const double largest = static_cast<float>(3e38);
  expect_codes({largest, 0.75 * largest, 0, 0, 0, 0, 0, -largest}, {double(float(largest) / 448)},
               {448, 320, 0, 0, 0, 0, 0, -448}, DType::f32);
  expect_codes({tiny, -tiny / 2, 0, 0, 0, 0, 0, 0, huge, 0.75 * huge, 0, 0, 0, 0, 0, 0},
               {double(float(tiny) / 448), double(float(huge) / 448)},
               {448, -224, 0, 0, 0, 0, 0, 0, 448, 320, 0, 0, 0, 0, 0, 0}, DType::f32);
}

TEST(BlockedFp8Quantize, RowsStandInRankOrderFromOneToFourRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, blocks_of(4), [&](Context& ctx) {
      const Tensors out = ProblemLibrary(kProblem).reference(
          ctx, {{"local_tensor", Tensor::full({2, 8}, ctx.world().rank() + 1, DType::f32)}});
      EXPECT_EQ(out["y_global"].shape(), (Shape{2 * ranks, 8}));
      EXPECT_EQ(out["s_global"].shape(), (Shape{2 * ranks, 2}));
      for (const double code : out["y_global"].values()) EXPECT_EQ(code, 448);
      const Row scales = out["s_global"].values();
      for (std::size_t i = 0; i < scales.size(); ++i) EXPECT_EQ(scales[i], double(float(1 + i / 4) / 448.0f));
    });
}

/// The error over the largest allowed of what `spoil` makes of the codes of each rank's 64 blocks of 64
/// numbers x(row, column).
void expect_worst(double worst, const std::function<double(int, int)>& x,
                  const std::function<void(Tensor& codes)>& spoil, int ranks = 1) {
  with_ranks(ranks, blocks_of(64), [&](Context& ctx) {
    const ProblemLibrary library(kProblem);
    Row values;
    for (int i = 0; i < 64 * 64; ++i) values.push_back(x(i / 64, i % 64));
    const Tensors in{{"local_tensor", Tensor::from_values(values, {64, 64}, DType::f32)}};
    const Tensors expected = library.reference(ctx, in);
    Tensor codes = expected["y_global"].clone();
    spoil(codes);
    const Tensors got{{"y_global", codes}, {"s_global", expected["s_global"]}};
    const Tensor error = library.check_outputs(
        ctx, {.in = in, .golden = expected, .baseline = expected, .got = got})["y_global"];
    EXPECT_EQ(error.shape(), codes.shape());
    EXPECT_DOUBLE_EQ(amax(error).item(), worst);
  });
}

/// Rows whose scale is 1: 448 first, then `other`.
std::function<double(int, int)> rows_of(double other) {
  return [other](int, int column) { return column == 0 ? 448 : other; };
}
/// Writes `code` over the last `count` codes.
std::function<void(Tensor&)> last_become(double code, int count) {
  return
      [=](Tensor& codes) { codes.view({codes.numel()}).narrow(0, codes.numel() - count, count).fill_(code); };
}

TEST(BlockedFp8Quantize, EitherNeighbourOfAMidpointIsRight) {
  expect_worst(0, rows_of(17), [](Tensor&) {});
  const double few = 4096 * 1e-3 + 8;  // allowed: 12
  expect_worst(1 / few, rows_of(17), last_become(18, 1));
  expect_worst(12 / few, rows_of(-336), last_become(-352, 12));
  expect_worst(12 / few, rows_of(0x1p-10), last_become(0x1p-9, 12));
  expect_worst(1 / few, rows_of(17 * (1 - 1.9e-6)), last_become(18, 1));
  expect_worst(1 / few, rows_of(17 * (1 + 1.9e-6)), last_become(16, 1));
  // Each rank judges the rows of all.
  expect_worst(16 / (3 * 4096 * 1e-3 + 8), rows_of(17), last_become(18, 16), 3);
}

TEST(BlockedFp8Quantize, OtherCodesAreWrong) {
  expect_worst(INFINITY, rows_of(17), last_become(20, 1));                 // not a neighbour
  expect_worst(INFINITY, rows_of(17 * (1 - 2.1e-6)), last_become(18, 1));  // beside the midpoint
  expect_worst(INFINITY, rows_of(17 * (1 + 2.1e-6)), last_become(16, 1));
  expect_worst(INFINITY, rows_of(18), last_become(20, 1));
  expect_worst(INFINITY, rows_of(18), last_become(16, 1));
  expect_worst(INFINITY, rows_of(17), last_become(-16, 1));
  expect_worst(INFINITY, rows_of(0), last_become(-0.0, 1));  // bits, not numbers
  expect_worst(INFINITY, rows_of(17), last_become(NAN, 1));
  expect_worst(INFINITY, rows_of(0), last_become(0x1p-9, 1));
}

TEST(BlockedFp8Quantize, ManyNeighboursAreNoRoundingErrors) {
  expect_worst(13 / (4096 * 1e-3 + 8), rows_of(17), last_become(18, 13));
  // Halves away from zero: of 1 to 63 they move 17, 21, 25, 29 and 34, 42, 50, 58.
  const auto x = [](int, int column) { return column == 0 ? 448 : column; };
  expect_worst(64 * 8 / (4096 * 1e-3 + 8), x, [&](Tensor& codes) {
    Row away;
    for (int i = 0; i < 64 * 64; ++i) {
      const double step = std::exp2(std::floor(std::log2(x(0, i % 64))) - 3);
      away.push_back(std::floor(x(0, i % 64) / step + 0.5) * step);
    }
    codes.copy_(Tensor::from_values(away, codes.shape(), DType::f32));
  });
}

TEST(BlockedFp8Quantize, InputsHaveZeroBlocksAndTies) {
  with_ranks(2, blocks_of(16), [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
      Tensors in{{"local_tensor", Tensor::zeros({4, 64}, DType::bf16)}};
      library.make_inputs(ctx, {.seed = 7, .trial = trial}, in);
      int zero = 0, exact = 0;
      for (const double scale : library.reference(ctx, in)["s_global"].values()) {
        zero += scale == 0;
        exact += scale > 0 && std::exp2(std::round(std::log2(scale))) == scale;
      }
      EXPECT_EQ(zero, 2);  // block 5 of 16 on both ranks
      EXPECT_EQ(exact, trial == 0 ? exact : 30);
    }
  });
}

TEST(BlockedFp8Quantize, RefusesBlocksThatCrossRows) {
  with_ranks(1, blocks_of(8), [](Context& ctx) {
    EXPECT_THROW(
        ProblemLibrary(kProblem).reference(ctx, {{"local_tensor", Tensor::zeros({2, 12}, DType::f32)}}),
        ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
