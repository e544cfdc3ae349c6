// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// (B, S, V), own ids of all tokens, to (B S / W, W V), all ids of own tokens.
Tensor to_tokens(const Group& world, const Tensor& logits) {
  const std::int64_t ranks = world.size(), tokens = logits.size(0) * logits.size(1), own = logits.size(2);
  require(tokens % ranks == 0, "vocab_parallel_log_prob_topk: {} tokens over {} ranks", tokens, ranks);
  Tensor received = Tensor::empty({ranks, tokens / ranks, own}, logits.dtype(), logits.place());
  world.all_to_all_single(received, logits.view({ranks, tokens / ranks, own}));
  return received.transpose(0, 1).reshape({tokens / ranks, ranks * own});
}

/// Rows with -inf for what top-k and top-p drop, whose cut is moved by `margin`.
Tensor truncated(Context& ctx, const Tensor& rows, double margin) {
  const std::int64_t ids = rows.size(1), wanted = ctx.param("top_k"), k = std::min(wanted, ids);
  const double top_p = ctx.param("top_p");
  if (top_p >= 1)
    return k == 0 ? rows : masked_fill(rows, lt(rows, topk(rows, k).values.narrow(1, k - 1, 1)), -kInfinity);
  const Sorted sorted = sort(rows);
  Tensor kept = sorted.values;
  if (k > 0) kept = masked_fill(kept, lt(kept, kept.narrow(1, ids - k, 1)), -kInfinity);
  const Tensor low = le(cumsum(softmax(kept)), static_cast<double>(static_cast<float>(1 - top_p)) + margin);
  low.narrow(1, ids - 1, 1).fill_(0);  // the largest always stays
  Tensor result = kept.empty_like();
  scatter_(result, 1, sorted.indices, masked_fill(kept, low, -kInfinity));
  return result;
}

Tensor log_probs(Context& ctx, const Tensors& in, double margin = 0) {
  const Group& world = ctx.world();
  const Tensor rows = as_float(to_tokens(world, in["logits"]));
  const Tensor own = in["target"].view({world.size(), rows.size(0)})[world.rank()];
  const Tensor mine = gather(log_softmax(truncated(ctx, rows, margin)), 1, own.unsqueeze(1));
  Tensor all = Tensor::empty(in["target"].shape(), mine.dtype(), mine.place());
  world.all_gather_into_tensor(all, mine.contiguous());
  return all;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) { return {{"logprobs", log_probs(ctx, in)}}; }

// A sum in fp32 may end on either side of the cut: what a cut anywhere within 1e-4 of the given one makes is
// right. fp32 errors of a logarithm and of probabilities come on top.
Tensors check_outputs(Context& ctx, const Judged& judged) {
  constexpr double kMargin = 1e-4;
  Tensors in;
  for (const auto& [name, tensor] : judged.in)
    in.set(name, name == "logits" ? tensor.to(DType::f64) : tensor);
  const Tensor &target = in["target"], &got = judged.got["logprobs"];
  const std::vector<double> lower = log_probs(ctx, in, -kMargin).values(),
                            upper = log_probs(ctx, in, kMargin).values(), of = got.values();
  std::vector<double> errors;
  for (std::size_t i = 0; i < of.size(); ++i) {
    // A lower cut keeps more: a smaller share, or one where there would be none.
    const bool may_go = upper[i] == -kInfinity, must_go = lower[i] == -kInfinity;
    const double highest = may_go ? lower[i] + 4 * kMargin : upper[i],
                 allowed = 2e-5 + 2e-6 * std::fabs(lower[i]);
    if (of[i] == -kInfinity || must_go)
      errors.push_back(of[i] == -kInfinity && may_go ? 0 : kInfinity);
    else
      errors.push_back(std::fmax(0, std::fmax(lower[i] - of[i], of[i] - highest)) / allowed +
                       (std::isnan(of[i]) ? kInfinity : 0));
  }
  return {{"logprobs", Tensor::from_values(errors, target.shape(), DType::f64)}};
}

// Targets from unlikely to likely: their logits are raised by 0 to 3. Logits are normal; then few integers,
// so that many are equal; then those of one rank are far above the others'.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const int rank = ctx.world().rank(), ranks = ctx.world().size();
  Tensor logits = in["logits"], target = in["target"];
  const std::int64_t own = logits.size(2), tokens = target.numel();
  random_fill(target,
              {.kind = Distribution::Kind::integers, .low = 0, .high = static_cast<double>(ranks * own - 1)},
              request.key(1, 0));
  if (request.trial % 3 == 1) {
    random_fill(logits, {.kind = Distribution::Kind::integers, .low = 0, .high = 5}, request.key(0, rank));
    return;
  }
  const bool raised = request.trial % 3 == 2 && static_cast<int>(request.trial) % ranks == rank;
  random_fill(logits, {.mean = raised ? 4.0 : 0.0}, request.key(0, rank));
  std::vector<double> raises;
  for (std::int64_t i = 0; i < tokens; ++i) raises.push_back(static_cast<double>(i % 4));
  Tensor rows = logits.view({tokens, own});
  const Tensor place = (target - static_cast<double>(rank * own)).view({tokens, 1});
  const Tensor mine = logical_and(ge(place, 0), lt(place, static_cast<double>(own))),
               at = clamp(place, 0, static_cast<double>(own - 1));
  const Tensor logit = gather(rows, 1, at),
               raise = Tensor::from_values(raises, {tokens, 1}, logits.dtype(), logits.place());
  scatter_(rows, 1, at, where(mine, logit + raise, logit));
}

}  // namespace pkb
