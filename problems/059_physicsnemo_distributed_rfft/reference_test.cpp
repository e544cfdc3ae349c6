// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "059_physicsnemo_distributed_rfft";

/// `field` is (H, N), row-major; `out[r]` the pairs of rank r.
void expect_spectrum(int ranks, const Row& field, std::int64_t columns, const std::vector<Row>& out) {
  with_ranks(ranks, {}, [&](Context& ctx) {
    const auto rows = static_cast<std::int64_t>(field.size()) / columns, own = columns / ranks;
    const Tensor x = Tensor::from_values(field, {1, rows, columns}, DType::f32)
                         .narrow(2, ctx.world().rank() * own, own).contiguous();
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor got = ProblemLibrary(kProblem).reference(ctx, {{"x", x.to(dtype)}})["out"];
      EXPECT_EQ(got.shape(), (Shape{1, rows / ranks, columns / 2 + 1, 2}));
      EXPECT_THAT(got.values(), Pointwise(DoubleNear(1e-6), out[static_cast<std::size_t>(ctx.world().rank())]));
    }
  });
}

TEST(DistributedRfft, TwoByTwo) { expect_spectrum(2, {1, 2, 3, 4}, 2, {{5, 0, -1, 0}, {-2, 0, 0, 0}}); }

TEST(DistributedRfft, DeltasTurnAlongTheirAxis) {
  Row field(16, 0);
  field[4] = 1;  // row 1, column 0
  expect_spectrum(2, field, 4, {{.25, 0, .25, 0, .25, 0, 0, -.25, 0, -.25, 0, -.25},
                                {-.25, 0, -.25, 0, -.25, 0, 0, .25, 0, .25, 0, .25}});
  field[4] = 0;
  field[1] = 1;  // row 0, column 1
  const Row row{.25, 0, 0, -.25, -.25, 0, .25, 0, 0, -.25, -.25, 0};
  expect_spectrum(2, field, 4, {row, row});
}

TEST(DistributedRfft, OddLengthOnOneRank) {
  expect_spectrum(1, {1, 2, 3, 4, 5, 6}, 3,
                  {{21 / std::sqrt(6.0), 0, -1.22474487, 0.70710678, -9 / std::sqrt(6.0), 0, 0, 0}});
}

TEST(DistributedRfft, AConstantHasOneFrequencyFromOneToFourRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::vector<Row> out;
    for (int r = 0; r < ranks; ++r) out.emplace_back(std::size_t(2 * (2 * ranks / 2 + 1)), 0);
    out[0][0] = std::sqrt(2.0 * ranks * ranks);
    expect_spectrum(ranks, Row(std::size_t(2 * ranks * ranks), 1), 2 * ranks, out);
  }
}

TEST(DistributedRfft, RefusesRowsThatDoNotSplit) {
  with_ranks(2, {}, [](Context& ctx) {
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, {{"x", Tensor::zeros({1, 3, 2}, DType::f32)}}), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
