// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "057_ring_attention_backward_dp";

/// `replicas` rings of `ring` ranks each.
ContextOptions with(int ring, int replicas, int causal, double scale = 1) {
  GroupLayout cp{.name = "cp", .ranks_of = {}}, dp{.name = "dp", .ranks_of = {}};
  for (int d = 0; d < replicas; ++d) {
    cp.ranks_of.emplace_back();
    for (int c = 0; c < ring; ++c) cp.ranks_of.back().push_back(d * ring + c);
  }
  for (int c = 0; c < ring; ++c) {
    dp.ranks_of.emplace_back();
    for (int d = 0; d < replicas; ++d) dp.ranks_of.back().push_back(d * ring + c);
  }
  return {.parameters = {{"causal", causal}, {"softmax_scale", scale}}, .groups = {cp, dp}};
}

/// One number for each rank of a ring of two, v = (2, 4).
struct Numbers {
  Row q, k, lse, out;
  Row dq, dk, dv;
  int causal = 0;
};

/// With two replicas, the second one's dout is three times the first one's 1.
void expect_gradients(const Numbers& numbers, int replicas = 1) {
  with_ranks(2 * replicas, with(2, replicas, numbers.causal), [&](Context& ctx) {
    const auto block = static_cast<std::size_t>(ctx.world().rank() % 2);
    const auto one = [&](const Row& row, Shape shape) { return Tensor::full(std::move(shape), row[block], DType::f32); };
    const Shape shape{1, 1, 1, 1};
    const Tensors in{{"dout", Tensor::full(shape, ctx.world().rank() < 2 ? 1 : 3, DType::f32)},
                     {"q", one(numbers.q, shape)},
                     {"k", one(numbers.k, shape)},
                     {"v", one({2, 4}, shape)},
                     {"out", one(numbers.out, shape)},
                     {"softmax_lse", one(numbers.lse, {1, 1, 1})}};
    const Tensors out = ProblemLibrary(kProblem).reference(ctx, in);
    const double factor = replicas == 2 ? 2 : 1;
    EXPECT_NEAR(out["dq"].item(), factor * numbers.dq[block], 1e-6);
    EXPECT_NEAR(out["dk"].item(), factor * numbers.dk[block], 1e-6);
    EXPECT_NEAR(out["dv"].item(), factor * numbers.dv[block], 1e-6);
  });
}

const double kLog2 = std::log(2.0);

TEST(RingAttentionBackward, StatisticsOfAllKeys) {
  const Numbers keys{.q = {0, 0}, .k = {1, 3}, .lse = {kLog2, kLog2}, .out = {3, 3}, .dq = {1, 1}, .dk = {0, 0}, .dv = {1, 1}};
  const Numbers queries{.q = {1, 2}, .k = {0, 0}, .lse = {kLog2, kLog2}, .out = {3, 3}, .dq = {0, 0}, .dk = {-1.5, 1.5}, .dv = {1, 1}};
  for (const int replicas : {1, 2}) {
    expect_gradients(keys, replicas);
    expect_gradients(queries, replicas);
  }
}

TEST(RingAttentionBackward, GivenStatisticsAreNotQuestioned) {
  expect_gradients({.q = {0, 0}, .k = {1, 3}, .lse = {0, 0}, .out = {2, 4}, .dq = {6, -2}, .dk = {0, 0}, .dv = {2, 2}});
  expect_gradients({.q = {1, 2}, .k = {0, 0}, .lse = {0, 0}, .out = {2, 4}, .dq = {0, 0}, .dk = {-4, 2}, .dv = {2, 2}});
}

TEST(RingAttentionBackward, CausalRanksPassOnWhatTheySkip) {
  for (const int replicas : {1, 2}) {
    expect_gradients({.q = {0, 0}, .k = {1, 3}, .lse = {0, kLog2}, .out = {2, 3}, .dq = {0, 1}, .dk = {0, 0}, .dv = {1.5, 0.5}, .causal = 1}, replicas);
    expect_gradients({.q = {1, 2}, .k = {0, 0}, .lse = {0, kLog2}, .out = {2, 3}, .dq = {0, 0}, .dk = {-1, 1}, .dv = {1.5, 0.5}, .causal = 1}, replicas);
  }
}

Tensors random_inputs(Context& ctx, const ProblemLibrary& library, const Shape& shape, DType dtype) {
  Tensors in;
  for (const char* name : {"dout", "q", "k", "v", "out"}) {
    Tensor t = Tensor::zeros(shape, dtype);
    if (name[0] == 'k' || name[0] == 'v')
      random_fill(t, {}, {.tensor = static_cast<std::uint16_t>(name[0]), .rank = static_cast<std::uint16_t>(ctx.world().rank())});
    in.set(name, t);
  }
  in.set("softmax_lse", Tensor::zeros({shape[0], shape[2], shape[1]}, dtype == DType::f64 ? DType::f64 : DType::f32));
  library.make_inputs(ctx, {.seed = 3, .trial = 1}, in);
  return in;
}

/// The derivative of sum(dout * attention(q, k, v)) over the whole sequence, by differences, is the oracle.
TEST(RingAttentionBackward, IsTheGradientOfAttentionOverTheWholeSequence) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const int causal : {0, 1})
      with_ranks(ranks, with(ranks, 1, causal, 0), [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const Shape shape{1, 3, 2, 4};
        const Tensors in = random_inputs(ctx, library, shape, DType::f64);
        const auto whole = [&](const Tensor& own) {
          Tensor all = Tensor::empty({ranks, 1, 3, 2, 4}, DType::f64);
          ctx.world().all_gather_into_tensor(all, own);
          return all.permute({1, 3, 0, 2, 4}).reshape({1, 2, 3 * ranks, 4});
        };
        const auto objective = [&] {
          const Tensor out = attention(whole(in["q"]), whole(in["k"]), whole(in["v"]), {.causal = causal == 1}).out;
          return sum(out * whole(in["dout"])).item();
        };
        const Tensors gradients = library.reference(ctx, in);
        constexpr double kStep = 1e-5;
        for (int owner = 0; owner < ranks; ++owner)
          for (const char* name : {"q", "k", "v"})
            for (const std::int64_t at : {0, 11, 23}) {
              const bool mine = ctx.world().rank() == owner;
              Tensor element = in[name].view({24}).narrow(0, at, 1);
              const double before = element.item();
              if (mine) element.fill_(before + kStep);
              const double above = objective();
              if (mine) element.fill_(before - kStep);
              const double below = objective();
              element.fill_(before);
              if (!mine) continue;
              EXPECT_NEAR(gradients[std::string("d") + name].values()[static_cast<std::size_t>(at)], (above - below) / (2 * kStep), 1e-7)
                  << name << " " << at << " of rank " << owner << ", causal " << causal;
            }
      });
}

TEST(RingAttentionBackward, TheRunDTypeStaysWithinTheBound) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (const auto& [ring, replicas] : {std::pair{3, 1}, std::pair{2, 2}, std::pair{4, 1}}) {
      ContextOptions options = with(ring, replicas, 1, 0);
      options.run_dtype = dtype;
      with_ranks(ring * replicas, options, [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const Tensors in = random_inputs(ctx, library, {1, 7, 2, 16}, dtype);
        Tensors wide;
        for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
        const Tensors got = library.reference(ctx, in), golden = library.reference(ctx, wide), bound = library.error_bound(ctx, wide);
        for (const auto& [name, tensor] : golden) {
          const Row a = got[name].values(), b = tensor.values(), most = bound[name].values();
          for (std::size_t i = 0; i < a.size(); ++i) EXPECT_LE(std::fabs(a[i] - b[i]), most[i]) << name << " " << i;
        }
      });
    }
}

}  // namespace
}  // namespace pkb::ref::testing
