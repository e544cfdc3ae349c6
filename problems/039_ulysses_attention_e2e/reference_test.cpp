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
constexpr auto kProblem = "039_ulysses_attention_e2e";

ContextOptions with(int heads, int causal, DType dtype = DType::bf16) {
  return {.run_dtype = dtype, .parameters = {{"num_heads", heads}, {"causal", causal}}};
}

TEST(UlyssesAttention, EqualScoresAverageOverTheSequence) {
  for (const int causal : {0, 1})
    expect_outputs(kProblem, 2, with(2, causal), [&](int rank) -> Exchange {
      const Row hidden[] = {{1, 10}, {3, 30}}, all[] = {{2, 20}, {2, 20}}, seen[] = {{1, 10}, {2, 20}};
      return {{{"hidden_states", Tensor::from_values(hidden[rank], {1, 1, 2}, DType::bf16)},
               {"w_qkv", Tensor::from_values({0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1}, {6, 2}, DType::bf16)},
               {"w_o", Tensor::from_values({1, 0, 0, 1}, {2, 2}, DType::bf16)}},
              {{"out", Tensor::from_values(causal ? seen[rank] : all[rank], {1, 1, 2}, DType::bf16)}}};
    });
}

Tensors inputs(Context& ctx, DType dtype) {
  Tensors in{{"hidden_states", Tensor::zeros({2, 3, 10}, dtype)}, {"w_qkv", Tensor::zeros({3 * 12 * 4, 10}, dtype)},
             {"w_o", Tensor::zeros({10, 12 * 4}, dtype)}};
  Tensor hidden = in["hidden_states"];
  random_fill(hidden, {}, {.rank = static_cast<std::uint16_t>(ctx.world().rank())});
  ProblemLibrary(kProblem).make_inputs(ctx, {.seed = 2}, in);
  return in;
}

TEST(UlyssesAttention, EqualsALayerOverTheWholeSequence) {
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (const int causal : {0, 1})
      with_ranks(ranks, with(12, causal), [&](Context& ctx) {
        const Tensors in = inputs(ctx, DType::f64);
        Tensor blocks = Tensor::empty({ranks, 2, 3, 10}, DType::f64);
        ctx.world().all_gather_into_tensor(blocks, in["hidden_states"]);
        const Tensor hidden = blocks.transpose(0, 1).reshape({2, 3 * ranks, 10});
        const Tensor qkv = linear(hidden, in["w_qkv"]).view({2, 3 * ranks, 3, 12, 4}).permute({2, 0, 3, 1, 4});
        const Tensor context = attention(qkv[0], qkv[1], qkv[2], {.causal = causal == 1}).out.transpose(1, 2);
        const Tensor all = linear(context.reshape({2, 3 * ranks, 48}), in["w_o"]);
        EXPECT_THAT(ProblemLibrary(kProblem).reference(ctx, in)["out"].values(),
                    Pointwise(DoubleNear(1e-12), all.narrow(1, 3 * ctx.world().rank(), 3).values()));
      });
}

TEST(UlyssesAttention, TheRunDTypeStaysWithinTheBound) {
  with_ranks(4, with(12, 1), [](Context& ctx) {
    const ProblemLibrary library(kProblem);
    const Tensors in = inputs(ctx, DType::bf16);
    Tensors wide;
    for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
    const Row got = library.reference(ctx, in)["out"].values(), golden = library.reference(ctx, wide)["out"].values(),
              bound = library.error_bound(ctx, wide)["out"].values();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_LE(std::fabs(got[i] - golden[i]), bound[i]) << i;
  });
}

TEST(UlyssesAttention, Refusals) {
  with_ranks(2, with(3, 0), [](Context& ctx) {
    const Tensors in{{"hidden_states", Tensor::zeros({1, 1, 3}, DType::f32)}, {"w_qkv", Tensor::zeros({9, 3}, DType::f32)},
                     {"w_o", Tensor::zeros({3, 3}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
  with_ranks(1, with(3, 0), [](Context& ctx) {
    const Tensors in{{"hidden_states", Tensor::zeros({1, 1, 3}, DType::f32)}, {"w_qkv", Tensor::zeros({8, 3}, DType::f32)},
                     {"w_o", Tensor::zeros({3, 3}, DType::f32)}};
    EXPECT_THROW(ProblemLibrary(kProblem).reference(ctx, in), ShapeError);
  });
}

}  // namespace
}  // namespace pkb::ref::testing
