// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "072_hyena_forward_cp";

ContextOptions options(bool zigzag = true, DType run_dtype = DType::bf16) {
  return {.run_dtype = run_dtype, .parameters = {{"zigzag", zigzag ? 1 : 0}}};
}

std::vector<std::int64_t> positions(int rank, int ranks, std::int64_t own, bool zigzag) {
  std::vector<std::int64_t> held;
  for (std::int64_t i = 0; i < own; ++i)
    held.push_back(!zigzag       ? rank * own + i
                   : i < own / 2 ? rank * own / 2 + i
                                 : (2 * ranks - 1 - rank) * own / 2 + i - own / 2);
  return held;
}

TEST(Hyena, TwoChannelsOnTwoRanks) {
  const Row out[] = {{1, 3, 9, 14}, {3, 6, 6, 10}}, v[] = {{1, 4, 1, 4}, {2, 3, 2, 3}};
  with_ranks(2, options(), [&](Context& ctx) {
    const int rank = ctx.world().rank();
    const Tensor ones = Tensor::full({1, 2, 2}, 1, DType::bf16);
    const Tensors in{{"x1_seq", ones},
                     {"x2_seq", ones},
                     {"v_seq", Tensor::from_values(v[rank], {1, 2, 2}, DType::bf16)},
                     {"h", Tensor::from_values({1, 1, 1, 2, 0, 1}, {2, 3}, DType::bf16)},
                     {"conv_bias", Tensor::from_values({0, 1}, {2}, DType::bf16)}};
    EXPECT_EQ(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(), out[rank]);
  });
}

/// x1 = x2 = 1 and v an impulse at position 0: the taps at every position, whoever holds it.
TEST(Hyena, AnImpulseGivesTheTaps) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const bool zigzag : {true, false})
      with_ranks(ranks, options(zigzag), [&](Context& ctx) {
        const std::int64_t own = 6, channels = 2 * ranks, length = own * ranks;
        const std::vector<std::int64_t> held = positions(ctx.world().rank(), ranks, own, zigzag);
        const Tensor ones = Tensor::full({2, channels, own}, 1, DType::f64),
                     v = Tensor::zeros({2, channels, own}, DType::f64);
        for (std::int64_t i = 0; i < own; ++i)
          if (held[std::size_t(i)] == 0) v.select(2, i).fill_(1);
        Row taps, expected;
        for (std::int64_t g = 0; g < ranks; ++g)
          for (std::int64_t t = 0; t < length - 1; ++t) taps.push_back(static_cast<double>(100 * g + t + 1));
        for (int b = 0; b < 2; ++b)
          for (const std::int64_t t : held)
            for (std::int64_t c = 0; c < channels; ++c)
              expected.push_back(t < length - 1 ? static_cast<double>(100 * (c / 2) + t + 1) : 0);
        const Tensors in{{"x1_seq", ones},
                         {"x2_seq", ones},
                         {"v_seq", v},
                         {"h", Tensor::from_values(taps, {ranks, length - 1}, DType::f64)},
                         {"conv_bias", Tensor::zeros({channels}, DType::f64)}};
        EXPECT_THAT(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(),
                    Pointwise(DoubleNear(1e-9), expected));
      });
}

TEST(Hyena, WithoutFilterTheBiasRemainsAndRoundsAsDefined) {
  with_ranks(2, options(), [](Context& ctx) {
    const auto random = [&](int number) {
      Tensor t = Tensor::empty({1, 4, 6}, DType::bf16);
      random_fill(t, {},
                  {.tensor = static_cast<std::uint16_t>(number),
                   .rank = static_cast<std::uint16_t>(ctx.world().rank())});
      return t;
    };
    const Tensors in{{"x1_seq", random(0)},
                     {"x2_seq", random(1)},
                     {"v_seq", random(2)},
                     {"h", Tensor::zeros({2, 5}, DType::bf16)},
                     {"conv_bias", Tensor::full({4}, 1, DType::bf16)}};
    const Tensor expected = (in["x1_seq"] * (in["x2_seq"] * in["v_seq"])).transpose(1, 2);
    EXPECT_EQ(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(), expected.values());
  });
}

/// Against the sum written out, for filters as long as the sequence; and the run dtype within its bound.
TEST(Hyena, EqualsTheSumAndStaysWithinTheBound) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    with_ranks(ranks, options(true, ranks == 2 ? DType::f32 : DType::bf16), [&](Context& ctx) {
      const ProblemLibrary library(kProblem);
      const std::int64_t own = 10, channels = 2 * ranks, length = own * ranks;
      const auto random = [&](const Shape& shape, int number, int rank) {
        Tensor t = Tensor::empty(shape, ctx.run_dtype());
        random_fill(t, {},
                    {.tensor = static_cast<std::uint16_t>(number), .rank = static_cast<std::uint16_t>(rank)});
        return t;
      };
      const auto shard = [&](int number, int rank) { return random({1, channels, own}, number, rank); };
      Tensors in{{"h", Tensor::zeros({ranks, length}, ctx.run_dtype())},
                 {"conv_bias", random({channels}, 3, 0)}};
      library.make_inputs(ctx, {.seed = 1}, in);
      in.set("x1_seq", shard(0, ctx.world().rank()));
      in.set("x2_seq", shard(1, ctx.world().rank()));
      in.set("v_seq", shard(2, ctx.world().rank()));
      Tensors wide;
      for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));

      std::vector<Row> u(std::size_t(channels), Row(std::size_t(length), 0));
      for (int r = 0; r < ranks; ++r) {
        const Row product = (shard(1, r).to(DType::f64) * shard(2, r).to(DType::f64)).values();
        const std::vector<std::int64_t> held = positions(r, ranks, own, true);
        for (std::size_t c = 0; c < u.size(); ++c)
          for (std::size_t i = 0; i < held.size(); ++i)
            u[c][std::size_t(held[i])] = product[c * held.size() + i];
      }
      const Row h = wide["h"].values(), bias = wide["conv_bias"].values(), x1 = wide["x1_seq"].values();
      const std::vector<std::int64_t> held = positions(ctx.world().rank(), ranks, own, true);
      Row expected;
      for (std::size_t i = 0; i < held.size(); ++i)
        for (std::size_t c = 0; c < u.size(); ++c) {
          const auto t = std::size_t(held[i]);
          double y = bias[c] * u[c][t];
          for (std::size_t k = 0; k <= t; ++k) y += h[c / 2 * std::size_t(length) + k] * u[c][t - k];
          expected.push_back(x1[c * held.size() + i] * y);
        }
      EXPECT_THAT(library.reference(ctx, wide)["out"].values(), Pointwise(DoubleNear(1e-12), expected));
      const Row got = library.reference(ctx, in)["out"].values(),
                bound = library.error_bound(ctx, wide)["out"].values();
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::fabs(got[i] - expected[i]), bound[i]) << i;
    });
}

TEST(Hyena, RefusesFiltersThatWouldWrapAround) {
  with_ranks(1, options(), [](Context& ctx) {
    const Tensor x = Tensor::zeros({1, 1, 2}, DType::f32);
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, {{"x1_seq", x},
                                                          {"x2_seq", x},
                                                          {"v_seq", x},
                                                          {"h", Tensor::zeros({1, 3}, DType::f32)},
                                                          {"conv_bias", Tensor::zeros({1}, DType::f32)}}),
                 ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
