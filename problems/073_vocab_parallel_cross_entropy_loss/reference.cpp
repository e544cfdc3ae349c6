// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.h"
#include "reference/normalize.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor &logits = in["vocab_parallel_logits"], &target = in["target"];
  const std::int64_t own = logits.size(-1);

  // Each rank's log-sum-exp, then that of all.
  const Tensor local = logsumexp(as_float(logits));
  Tensor most = local.clone();
  world.all_reduce(most, Reduce::max);
  Tensor total = exp(local - most);
  world.all_reduce(total, Reduce::sum);

  // The target's logit comes from the one rank that has it.
  const Tensor place = target - static_cast<double>(world.rank() * own);
  const Tensor mine = logical_and(ge(place, 0), lt(place, static_cast<double>(own)));
  const Tensor picked = gather(logits, -1, clamp(place, 0, static_cast<double>(own - 1)).unsqueeze(-1)).squeeze(-1);
  Tensor wanted = masked_fill(as_float(picked), logical_not(mine), 0);
  world.all_reduce(wanted, Reduce::sum);
  return {{"loss", log(total) + (most - wanted)}};
}

// fp32: each of V terms and the three combinations may err by 2^-24 of the numbers at hand, the largest logit included.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor& logits = in["vocab_parallel_logits"];
  Tensor largest = amax(abs(masked_fill(logits, lt(logits, -1e30), 0)), {.dimensions = {-1}});
  ctx.world().all_reduce(largest, Reduce::max);
  const double terms = static_cast<double>(logits.size(-1)) * ctx.world().size();
  return {{"loss", (abs(reference(ctx, in)["loss"]) + largest * 4 + (terms + 8)) * 0x1p-23}};
}

// The largest logits are on one rank in two trials of three. Targets are anywhere, then on one rank, then at the
// borders of the ranks' slices.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor logits = in["vocab_parallel_logits"], target = in["target"];
  const int rank = ctx.world().rank(), ranks = ctx.world().size();
  const auto own = static_cast<double>(logits.size(-1));
  const bool raised = request.trial % 3 != 0 && static_cast<int>(request.trial) % ranks == rank;
  random_fill(logits, {.mean = raised ? 12.0 : 0.0, .stddev = 2}, request.key(0, rank));
  const double first = request.trial % 3 == 1 ? (request.trial + 1) % ranks * own : 0;
  const double last = request.trial % 3 == 1 ? first + own - 1 : ranks * own - 1;
  random_fill(target, {.kind = Distribution::Kind::integers, .low = first, .high = last}, request.key(1, 0));
  if (request.trial % 3 == 2) {
    const Tensor border = remainder(target, 2 * ranks);  // the first and the last id of each slice in turn
    target.copy_(floor_divide(border, 2) * own + remainder(border, 2) * (own - 1));
  }
}

}  // namespace pkb
