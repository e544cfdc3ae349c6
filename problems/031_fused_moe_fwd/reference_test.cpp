// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/testing/problem.h"

namespace pkb::ref::testing {
namespace {

constexpr auto kProblem = "031_fused_moe_fwd";
constexpr std::int64_t kWidth = 4;

/// Two ranks with two experts each, two per token, one number inside an expert. Expert e maps x to
/// (sum of x) * scale_e * (1, 2, 3, 4) where the sum is large.
struct Layer {
  Row scales;        ///< of all experts
  double gate = 1;   ///< the router: times the identity
  double down = 0;   ///< bias of the down projection of expert e: down * (e + 1)
};

Tensors inputs(const Layer& layer, int rank, const Tensor& hidden) {
  const auto experts = static_cast<std::int64_t>(layer.scales.size()), local = experts / 2;
  const auto zeros = [](Shape shape) { return Tensor::zeros(std::move(shape), DType::bf16); };
  Tensor gate_weight = zeros({experts, kWidth}), up_bias = zeros({local, 1}), down_bias = zeros({local, kWidth});
  for (std::int64_t e = 0; e < std::min(experts, kWidth); ++e) gate_weight[e].narrow(0, e, 1).fill_(layer.gate);
  for (std::int64_t j = 0; j < local; ++j) {
    up_bias[j].fill_(layer.scales[static_cast<std::size_t>(rank * local + j)]);
    down_bias[j].fill_(layer.down * static_cast<double>(rank * local + j + 1));
  }
  Tensor down = zeros({local, kWidth, 1});
  if (layer.down == 0) down.copy_(Tensor::from_values({1, 2, 3, 4}, {kWidth, 1}, DType::bf16));
  return {{"hidden_states", hidden},
          {"gate_weight", gate_weight},
          {"gate_bias", zeros({experts})},
          {"gate_proj_weight", Tensor::full({local, 1, kWidth}, 1, DType::bf16)},
          {"gate_proj_bias", zeros({local, 1})},
          {"up_proj_weight", zeros({local, 1, kWidth})},
          {"up_proj_bias", up_bias},
          {"down_proj_weight", down},
          {"down_proj_bias", down_bias}};
}

/// size * (unit of one expert + unit of another).
struct Token {
  double size;
  std::size_t first, second;
};

Tensor hidden_of(const std::vector<Token>& tokens) {
  Row values;
  for (const Token& token : tokens) {
    Row row(kWidth, 0);
    row[token.first] = row[token.second] = token.size;
    values.insert(values.end(), row.begin(), row.end());
  }
  return Tensor::from_values(values, {static_cast<std::int64_t>(tokens.size()), kWidth}, DType::bf16);
}

/// Rows are multiples of (1, 2, 3, 4).
void expect_multiples(const Layer& layer, const std::vector<Token> (&tokens)[2], const Row (&factors)[2]) {
  expect_outputs(kProblem, 2, {.parameters = {{"K", 2}}}, [&](int rank) -> Exchange {
    Row expected;
    for (const double each : factors[rank])
      for (const double h : {1, 2, 3, 4}) expected.push_back(each * h);
    return {inputs(layer, rank, hidden_of(tokens[rank])),
            {{"result", Tensor::from_values(expected, {static_cast<std::int64_t>(factors[rank].size()), kWidth}, DType::bf16)}}};
  });
}

const std::vector<Token> kTokens[2] = {{{64, 0, 3}, {128, 2, 0}, {64, 3, 1}}, {{64, 1, 2}, {128, 1, 0}, {64, 2, 1}}};

TEST(FusedMoe, EveryExpertHasItsOwnWeights) {
  expect_multiples({.scales = {1. / 128, 2. / 128, 3. / 128, 4. / 128}}, kTokens, {{2.5, 4, 3}, {2.5, 3, 2.5}});
}

TEST(FusedMoe, ExpertsOfARankAlike) {
  expect_multiples({.scales = {1. / 128, 1. / 128, 2. / 128, 2. / 128}}, kTokens, {{1.5, 3, 1.5}, {1.5, 2, 1.5}});
}

TEST(FusedMoe, SkewAndRanksWithoutTokensOrRows) {
  // All to the experts of rank 0; then from rank 1 alone, to those of rank 1.
  expect_multiples({.scales = {1. / 128, 2. / 128, 3. / 128, 4. / 128}}, {{{64, 0, 1}, {64, 1, 0}}, {{128, 0, 1}}}, {{1.5, 1.5}, {3}});
  expect_multiples({.scales = {1. / 128, 2. / 128, 3. / 128, 4. / 128}}, {{}, {{64, 2, 3}}}, {{}, {3.5}});
}

TEST(FusedMoe, TiesTakeTheLowestIdsAndWeightsAreNotNormalisedAnew) {
  // All 8 probabilities are 1/8: experts 0 and 1, whose results are their biases 1 and 2.
  expect_outputs(kProblem, 2, {.parameters = {{"K", 2}}}, [](int rank) -> Exchange {
    return {inputs({.scales = Row(8, 0), .gate = 0, .down = 1}, rank, hidden_of({{64, 0, 1}, {3, 2, 3}})),
            {{"result", Tensor::full({2, kWidth}, 3. / 8, DType::bf16)}}};
  });
}

TEST(FusedMoe, ASecondChoiceOfNoWeight) {
  // Probabilities (tiny, tiny, 1, tiny): expert 2, and expert 0 with 1.6e-28.
  expect_multiples({.scales = {1. / 128, 2. / 128, 3. / 128, 4. / 128}}, {{{64, 2, 2}}, {{64, 2, 2}}}, {{1.5}, {1.5}});
}

/// Inputs of the size `tiny`.
Tensors random_inputs(Context& ctx, const ProblemLibrary& library, DType dtype, std::uint32_t trial, std::int64_t experts) {
  const std::int64_t tokens = ctx.world().rank() == 1 ? 0 : 67, local = experts / ctx.world().size();
  const auto zeros = [&](Shape shape) { return Tensor::zeros(std::move(shape), dtype); };
  Tensors in{{"hidden_states", zeros({tokens, 44})},       {"gate_weight", zeros({experts, 44})}, {"gate_bias", zeros({experts})},
             {"gate_proj_weight", zeros({local, 28, 44})}, {"gate_proj_bias", zeros({local, 28})},
             {"up_proj_weight", zeros({local, 28, 44})},   {"up_proj_bias", zeros({local, 28})},
             {"down_proj_weight", zeros({local, 44, 28})}, {"down_proj_bias", zeros({local, 44})}};
  library.make_inputs(ctx, {.seed = 8, .trial = trial}, in);
  return in;
}

TEST(FusedMoe, EveryRunDTypeStaysWithinTheBound) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
    for (int ranks = 1; ranks <= 4; ++ranks)
      with_ranks(ranks, {.run_dtype = dtype, .parameters = {{"K", 3}}}, [&](Context& ctx) {
        const ProblemLibrary library(kProblem);
        for (std::uint32_t trial = 0; trial < 3; ++trial) {
          const Tensors in = random_inputs(ctx, library, dtype, trial, 12);
          Tensors wide;
          for (const auto& [name, tensor] : in) wide.set(name, tensor.to(DType::f64));
          const Row a = library.reference(ctx, in)["result"].values(), b = library.reference(ctx, wide)["result"].values(),
                    most = library.error_bound(ctx, wide)["result"].values();
          for (std::size_t i = 0; i < a.size(); ++i) ASSERT_LE(std::fabs(a[i] - b[i]), most[i]) << i << ", trial " << trial;
        }
      });
}

}  // namespace
}  // namespace pkb::ref::testing
