// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "reference/attention.h"
#include "reference/ops.h"
#include "reference/random.h"
#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Pointwise;
constexpr auto kProblem = "054_ring_attention";

ContextOptions with(int causal, double scale = 0) {
  return {.parameters = {{"causal", causal}, {"softmax_scale", scale}}};
}

/// Two ranks with two tokens of one number each.
void expect_out(const ContextOptions& options, const Row (&q)[2], const Row (&k)[2], const Row (&v)[2],
                const Row (&out)[2]) {
  with_ranks(2, options, [&](Context& ctx) {
    const int rank = ctx.world().rank();
    const auto tensor = [&](const Row (&of)[2]) { return Tensor::from_values(of[rank], {1, 2, 1, 1}, DType::f32); };
    const Tensors in{{"q", tensor(q)}, {"k", tensor(k)}, {"v", tensor(v)}};
    EXPECT_THAT(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(), Pointwise(DoubleNear(1e-5), out[rank]));
  });
}

TEST(RingAttention, EqualScoresAverageWhatIsSeen) {
  expect_out(with(1), {{0, 0}, {0, 0}}, {{2, 3}, {4, 5}}, {{1, 3}, {5, 7}}, {{1, 2}, {3, 4}});
  expect_out(with(0), {{0, 0}, {0, 0}}, {{2, 3}, {4, 5}}, {{1, 3}, {5, 7}}, {{4, 4}, {4, 4}});
}

TEST(RingAttention, WeightsFollowTheScale) {
  expect_out(with(1, std::log(2.0)), {{1, 1}, {1, 1}}, {{0, 1}, {0, 2}}, {{1, 4}, {0, 8}}, {{1, 3}, {2.25, 5.125}});
}

TEST(RingAttention, BlocksOfVeryDifferentScoresMerge) {
  expect_out(with(1, 1), {{1, 1}, {1, 1}}, {{100, 0}, {0, 100}}, {{1, 2}, {3, 4}}, {{1, 1}, {1, 2.5}});
}

/// The whole sequence at once, on every rank, is the oracle.
TEST(RingAttention, EqualsAttentionOverTheWholeSequenceAndEachBlockMatters) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const int causal : {0, 1})
      with_ranks(ranks, with(causal), [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        const int rank = ctx.world().rank();
        const Shape shape{2, 5, 3, 4};
        Tensors in{{"q", Tensor::zeros(shape, DType::f64)}, {"k", Tensor::empty(shape, DType::f64)},
                   {"v", Tensor::empty(shape, DType::f64)}};
        Tensor k = in["k"], v = in["v"];
        random_fill(k, {}, {.tensor = 1, .rank = static_cast<std::uint16_t>(rank)});
        random_fill(v, {}, {.tensor = 2, .rank = static_cast<std::uint16_t>(rank)});
        library.make_inputs(ctx, {.seed = 3, .trial = 1}, in);
        const auto whole = [&](const char* name) {
          Tensor all = Tensor::empty({ranks, 2, 5, 3, 4}, DType::f64);
          ctx.world().all_gather_into_tensor(all, in[name]);
          return all.permute({1, 3, 0, 2, 4}).reshape({2, 3, 5 * ranks, 4});
        };
        const Tensor expected =
            attention(whole("q"), whole("k"), whole("v"), {.causal = causal == 1}).out.narrow(2, 5 * rank, 5);
        const Tensor out = library.reference(ctx, in)["out"];
        EXPECT_THAT(out.values(), Pointwise(DoubleNear(1e-12), expected.transpose(1, 2).values()));
        // Without another rank's values some output changes by far more than its bound.
        for (int other = 0; other < ranks; ++other) {
          const Tensor kept = v.clone();
          if (rank == other) v.fill_(0);
          const Tensor change = abs(library.reference(ctx, in)["out"] - out);
          v.copy_(kept);
          if (!causal || other <= rank) {
            EXPECT_GT(amax(change).item(), 0.1);
          }
        }
      });
}

TEST(RingAttention, TheRunDTypeStaysWithinTheBound) {
  with_ranks(3, {.run_dtype = DType::bf16, .parameters = {{"causal", 1}, {"softmax_scale", 0}}}, [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const Shape shape{1, 7, 2, 16};
    Tensors in, wide;
    for (const char* name : {"q", "k", "v"}) {
      Tensor t = Tensor::empty(shape, DType::bf16);
      random_fill(t, {}, {.tensor = static_cast<std::uint16_t>(name[0]), .rank = static_cast<std::uint16_t>(ctx.world().rank())});
      in.set(name, t);
    }
    library.make_inputs(ctx, {.seed = 3, .trial = 0}, in);
    for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
    const Row got = library.reference(ctx, in)["out"].values(), golden = library.reference(ctx, wide)["out"].values(),
              bound = library.error_bound(ctx, wide)["out"].values();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::fabs(got[i] - golden[i]), bound[i]) << i;
  });
}

}  // namespace
}  // namespace pkb::ref::testing
