// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "075_fla_gated_deltanet_cp";

/// Two ranks with a position each and two heads of one number; `k1` is rank 1's key.
void expect_out(double gate, double k1, const Row (&v)[2], const Row (&out)[2]) {
  with_ranks(2, {}, [&](Context& ctx) {
    const int rank = ctx.world().rank();
    const auto numbers = [](const Row& of, const Shape& shape) {
      return Tensor::from_values(of, shape, DType::bf16);
    };
    const Tensors in{{"q", numbers({1, 1}, {1, 1, 2, 1})},
                     {"k", numbers(Row(2, rank == 1 ? k1 : 1), {1, 1, 2, 1})},
                     {"v", numbers(v[rank], {1, 1, 2, 1})},
                     {"gate", numbers({gate, gate}, {1, 1, 2})},
                     {"beta", numbers({0.5, 0.5}, {1, 1, 2})},
                     {"a_log", numbers({0}, {1})},
                     {"dt_bias", numbers({0}, {1})}};
    EXPECT_THAT(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(),
                Pointwise(DoubleNear(1e-6), out[rank]));
  });
}

TEST(GatedDeltaNet, TheStateCrossesRanks) {
  expect_out(0, 1, {{2, 4}, {4, 0}}, {{1, 2}, {2.25, 0.5}});
  expect_out(0, 0, {{2, 4}, {4, 0}}, {{1, 2}, {0.5, 1}});
}

TEST(GatedDeltaNet, AGateOf100ForgetsAll) {
  expect_out(100, 1, {{2, 4}, {4, 0}}, {{1, 2}, {2, 0}});
  expect_out(100, -1, {{2, 4}, {4, 3}}, {{1, 2}, {-2, -1.5}});
}

/// The definition over the whole sequence in double, for inputs of every kind: value heads that share a
/// query, batches, one position per rank. And the run dtype within its bound, from which a state reset at the
/// border is far.
void expect_definition(int ranks, std::int64_t own, DType run_dtype) {
  with_ranks(ranks, {.run_dtype = run_dtype}, [&](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const int rank = ctx.world().rank();
    const std::int64_t batch = 2, queries = ranks, heads = 2 * ranks, keys = 5, values = 3,
                       length = ranks * own;
    for (std::uint32_t trial = 0; trial < 2; ++trial) {
      const auto random = [&](const Shape& shape, DType dtype, int number, double low, double high) {
        Tensor t = Tensor::empty(shape, dtype);
        random_fill(t, {.kind = Distribution::Kind::uniform, .low = low, .high = high},
                    {.trial = trial,
                     .tensor = static_cast<std::uint16_t>(number),
                     .rank = static_cast<std::uint16_t>(rank)});
        return t;
      };
      Tensors in{{"q", random({batch, own, queries, keys}, run_dtype, 0, -1, 1)},
                 {"k", Tensor::zeros({batch, own, queries, keys}, run_dtype)},
                 {"v", random({batch, own, heads, values}, run_dtype, 2, -1, 1)},
                 {"gate", Tensor::zeros({batch, own, heads}, run_dtype)},
                 {"beta", random({batch, own, heads}, run_dtype, 4, 0, 1)},
                 {"a_log", random({2}, DType::bf16, 5, -1, 1)},
                 {"dt_bias", random({2}, DType::bf16, 6, -1, 1)}};
      library.make_inputs(ctx, {.seed = 2, .trial = trial}, in);
      // All ranks' values in fp64: positions one after the other, a_log and dt_bias heads one after the
      // other.
      const auto whole = [&](const char* name) {
        const Tensor mine = in[name].to(DType::f64);
        Shape shape = mine.shape();
        shape.insert(shape.begin(), ranks);
        Tensor all = Tensor::empty(shape, DType::f64);
        ctx.world().all_gather_into_tensor(all, mine);
        if (mine.dim() == 1) return all.view({heads});
        shape.erase(shape.begin());
        shape[1] = length;
        return all.transpose(0, 1).reshape(shape);
      };
      const Tensor q = whole("q"), k = whole("k"), v = whole("v"), gate = whole("gate"), beta = whole("beta");
      const Row a = whole("a_log").values(), dt = whole("dt_bias").values();
      const auto unit = [&](const Tensor& row, double scale) {
        Row x = row.values();
        double squares = 0;
        for (const double each : x) squares += each * each;
        for (double& each : x) each *= scale / std::fmax(std::sqrt(squares), 1e-6);
        return x;
      };
      Tensor expected = Tensor::zeros({batch, length, heads, values}, DType::f64);
      for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t h = 0; h < heads; ++h) {
          std::vector<Row> state(std::size_t(keys), Row(std::size_t(values), 0));
          for (std::int64_t t = 0; t < length; ++t) {
            const double x = gate[b][t][h].item() + dt[std::size_t(h)],
                         plus = x > 20 ? x : std::log1p(std::exp(x));
            const double decay = std::exp(-std::exp(a[std::size_t(h)]) * plus),
                         strength = beta[b][t][h].item();
            const Row key = unit(k[b][t][h / 2], 1),
                      query = unit(q[b][t][h / 2], 1 / std::sqrt(double(keys))), value = v[b][t][h].values();
            Row out(std::size_t(values), 0);
            for (std::size_t j = 0; j < value.size(); ++j) {
              double known = 0;
              for (std::size_t i = 0; i < key.size(); ++i) known += key[i] * (state[i][j] *= decay);
              for (std::size_t i = 0; i < key.size(); ++i) {
                state[i][j] += key[i] * strength * (value[j] - known);
                out[j] += query[i] * state[i][j];
              }
            }
            expected[b][t][h].copy_(Tensor::from_values(out, {values}, DType::f64));
          }
        }
      Tensors wide;
      for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
      const Row golden = library.reference(ctx, wide)["out"].values(),
                got = library.reference(ctx, in)["out"].values(),
                bound = library.error_bound(ctx, wide)["out"].values();
      EXPECT_THAT(golden, Pointwise(DoubleNear(1e-12), expected.narrow(1, rank * own, own).values()));
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::fabs(got[i] - golden[i]), bound[i]) << i;
    }
  });
}

TEST(GatedDeltaNet, EqualsTheRecurrenceOverTheWholeSequence) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    expect_definition(ranks, 1, DType::f32);
    expect_definition(ranks, 9, ranks % 2 == 0 ? DType::bf16 : DType::f32);
  }
}

/// Without what came before, the first position of rank 1 is off by far more than its bound.
TEST(GatedDeltaNet, StatesLiveThroughBorders) {
  with_ranks(2, {}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const auto random = [&](const Shape& shape, int number, double low) {
      Tensor t = Tensor::empty(shape, DType::f64);
      random_fill(t, {.kind = Distribution::Kind::uniform, .low = low, .high = 1},
                  {.tensor = static_cast<std::uint16_t>(number),
                   .rank = static_cast<std::uint16_t>(ctx.world().rank())});
      return t;
    };
    Tensors in{{"q", random({1, 20, 2, 8}, 0, -1)}, {"k", random({1, 20, 2, 8}, 1, -1)},
               {"v", random({1, 20, 2, 8}, 2, -1)}, {"gate", random({1, 20, 2}, 3, -1)},
               {"beta", random({1, 20, 2}, 4, 0)},  {"a_log", random({1}, 5, -1)},
               {"dt_bias", random({1}, 6, -1)}};
    library.make_inputs(ctx, {.seed = 2, .trial = 0}, in);
    const Tensor out = library.reference(ctx, in)["out"], bound = library.error_bound(ctx, in)["out"];
    if (ctx.world().rank() == 0) in["v"].narrow(0, 0, 1).fill_(0);
    const Tensor without = library.reference(ctx, in)["out"];
    if (ctx.world().rank() == 1) {
      EXPECT_GT(amin(amax(abs(out - without) / bound, {.dimensions = {2, 3}})).item(), 10);
    }
  });
}

TEST(GatedDeltaNet, RefusesHeadsThatDoNotSplit) {
  with_ranks(2, {}, [](Context& ctx) {
    const Tensor x = Tensor::zeros({1, 1, 3, 2}, DType::f32), g = Tensor::zeros({1, 1, 3}, DType::f32),
                 a = Tensor::zeros({1}, DType::f32);
    EXPECT_THROW(
        ProblemLibrary(kProblem).reference(
            ctx, {{"q", x}, {"k", x}, {"v", x}, {"gate", g}, {"beta", g}, {"a_log", a}, {"dt_bias", a}}),
        ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
