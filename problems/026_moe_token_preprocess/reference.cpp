// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/problem.h"
#include "reference/routing.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor& mask = in["expert_mask"];  // (E, K, M)
  const std::int64_t experts = mask.size(0), ranks = world.size();
  require(experts % ranks == 0, "moe_token_preprocess: {} experts over {} ranks", experts, ranks);
  const std::int64_t local = experts / ranks;

  const Tensor counts = sum(mask, {.dimensions = {1, 2}}).to(DType::i64);
  Tensor everyones = Tensor::empty({ranks, experts}, DType::i64, mask.place());
  world.all_gather_into_tensor(everyones, counts);
  const Tensor per_local = everyones.narrow(1, world.rank() * local, local).contiguous();
  return {{"input_splits", sum(counts.view({ranks, local}), {.dimensions = {1}})},
          {"output_splits", sum(per_local, {.dimensions = {1}})},
          {"num_global_tokens_per_local_expert", per_local},
          {"num_global_sum_tokens_per_local_expert", sum(per_local, {.dimensions = {0}})}};
}

// Distinct experts per token, in three kinds of routing; then drawn one by one, so that a token may name one
// twice.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor mask = in["expert_mask"];
  const std::int64_t experts = mask.size(0), chosen = mask.size(1), tokens = mask.size(2);
  const RandomKey key = request.key(0, ctx.world().rank());
  constexpr Routing kRouting[] = {Routing::even, Routing::preferring, Routing::same};
  Tensor selected = Tensor::empty({tokens, chosen}, DType::i64, mask.place());
  if (request.trial % 4 == 3)
    random_fill(selected, {.kind = Distribution::Kind::integers, .low = 0, .high = double(experts - 1)}, key);
  else
    selected = random_experts(tokens, experts, chosen, kRouting[request.trial % 4], mask.place(), key);
  mask.copy_(one_hot(selected, experts).permute({2, 1, 0}));
}

}  // namespace pkb
