// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/error_model.h"
#include "reference/expert_parallel.h"
#include "reference/indexing.h"
#include "reference/normalize.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/sorting.h"

namespace pkb {

using namespace ref;

namespace {

/// Each expert's rows through its own SwiGLU block.
Tensor experts(const Tensor& rows, const Counts& of_expert, const Tensors& in) {
  std::vector<Tensor> results = rows.split(of_expert);
  for (std::size_t j = 0; j < results.size(); ++j) {
    const auto project = [&](const Tensor& x, const std::string& name) {
      const auto expert = static_cast<std::int64_t>(j);
      return linear(x, in[name + "_weight"][expert], in[name + "_bias"][expert]);
    };
    const Tensor gated = silu(project(results[j], "gate_proj")) * project(results[j], "up_proj");
    results[j] = project(gated, "down_proj");
  }
  return cat(results);
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor& hidden = in["hidden_states"];
  const Tensor probabilities = softmax(linear(hidden, in["gate_weight"], in["gate_bias"]));
  const auto [weights, selected] = topk(probabilities, ctx.param("K"));

  const ExpertRoutes routes = expert_routes(world, selected, in["gate_weight"].size(0));
  const Tensor rows = experts(dispatched(world, routes, hidden), routes.of_expert, in);
  const Tensor back = returned(world, routes, rows);

  const Tensor weight = index_select(weights.reshape({weights.numel(), 1}), 0, routes.slots);
  Tensor result = Tensor::zeros(hidden.shape(), hidden.dtype(), hidden.place());
  index_add_(result, routes.tokens, back * weight);
  return {{"result", result}};
}

// Logits, probabilities, what flows through an expert and the sum may be rounded to T. A logit of up to 4 that is rounded moves
// its expert's weight by 4 roundings.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor result = reference(ctx, in)["result"];
  const Tensor typical = sqrt(mean(square(result), {.dimensions = {-1}, .keep = true}));
  return {{"result", (abs(result) + typical) * (8 * unit_roundoff(ctx.run_dtype()) + 1e-5) + subnormal_step(ctx.run_dtype())}};
}

// The first E elements of a token decide about its experts: rounding may move logits, but none across the gap between those
// that are chosen and those that are not. One of them is on another rank. Experts are taken alike, then by preferences that
// differ between ranks; then all tokens have the same logits, every second expert the larger one, and ties decide.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const std::int64_t rank = ctx.world().rank(), ranks = ctx.world().size();
  const std::int64_t all = in["gate_weight"].size(0), local = all / ranks, width = in["gate_weight"].size(1);
  Tensor hidden = in["hidden_states"], gate = in["gate_weight"], bias = in["gate_bias"];
  const std::int64_t tokens = hidden.size(0);
  int number = 0;
  const auto random = [&](Tensor t, const Distribution& distribution, std::int64_t of) {
    random_fill(t, distribution, request.key(number++, of));
    return t;
  };
  const auto integers = [&](Shape shape, std::int64_t below) {
    return random(Tensor::empty(std::move(shape), DType::i64, hidden.place()),
                  {.kind = Distribution::Kind::integers, .low = 0, .high = static_cast<double>(below - 1)}, rank);
  };
  for (const char* name : {"gate_proj_weight", "up_proj_weight", "down_proj_weight"})
    random(in[name], {.stddev = 1 / std::sqrt(static_cast<double>(in[name].size(2)))}, rank);
  random(hidden, {}, rank);
  if (request.trial % 3 == 2) {
    gate.fill_(0);
    bias.copy_(remainder(arange(all, DType::i64, bias.place()), 2));
    return;
  }
  random(gate, {.stddev = 0.1 / std::sqrt(static_cast<double>(width))}, 0);
  gate.narrow(1, 0, all).copy_(one_hot(arange(all, DType::i64, gate.place()), all));
  random(bias, {.stddev = 0.5}, 0);

  Tensor score = integers({tokens, all}, 1000);
  if (request.trial % 3 == 1)
    score = score - floor_divide(remainder(arange(all, DType::i64, hidden.place()) + 3.0 * static_cast<double>(rank), all) * 1000.0, all);
  if (ranks > 1) {
    const Tensor other = integers({tokens, 1}, all - local);
    const Tensor elsewhere = other + ge(other, static_cast<double>(rank * local)).to(DType::i64) * static_cast<double>(local);
    scatter_(score, 1, elsewhere, Tensor::full({tokens, 1}, 1e6, DType::i64, hidden.place()));
  }
  const Tensor chosen = sum(one_hot(topk(score, ctx.param("K")).indices, all), {.dimensions = {1}});
  const Tensor u = random(Tensor::empty({tokens, all}, DType::f64, hidden.place()), {.kind = Distribution::Kind::uniform}, rank);
  const Tensor logit = where(ne(chosen, 0), u * 2 + 0.5, u * -1.5 - 0.5);
  hidden.narrow(1, 0, all).copy_(logit - bias.to(DType::f64));
}

}  // namespace pkb
