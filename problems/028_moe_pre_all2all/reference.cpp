// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "reference/expert_parallel.h"
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/routing.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor &hidden = in["hidden_states"], &mask = in["expert_mask"];
  const std::int64_t tokens = hidden.size(0), ranks = ctx.world().size();
  // Counts decide about shapes: all of them come to the host together.
  const Tensor &own = in["input_splits"], &others = in["output_splits"],
               &tokens_of_chunk = in["num_global_tokens_per_local_expert"];  // (W, L)
  const Tensor counts = cat({own, others, tokens_of_chunk.reshape({-1})}).to(Place::host);
  const Counts sent = counts.narrow(0, 0, ranks).integers(), received = counts.narrow(0, ranks, ranks).integers();
  // Rows arrive by source rank, then local expert; they leave by local expert, then source rank.
  const Tensor order =
      by_local_expert(counts.narrow(0, 2 * ranks, tokens_of_chunk.numel()).view(tokens_of_chunk.shape())).to(hidden.place());
  const std::int64_t arriving = total(received);
  require(order.numel() == arriving,
          "moe_pre_all2all: num_global_tokens_per_local_expert has {} rows, output_splits {}", order.numel(), arriving);

  // Rows in the order of the experts, tokens ascending within one.
  const Tensor routing_map = ne(sum(mask, {.dimensions = {1}}), 0);
  const Tensor mapping = remainder(flatnonzero(routing_map), std::max<std::int64_t>(1, tokens));
  require(total(sent) == mapping.numel(), "moe_pre_all2all: input_splits {} for {} routed rows", sent, mapping.numel());
  const Tensor arrived = all_to_all_rows(ctx.world(), index_select(hidden, 0, mapping), sent, received);
  const auto count = [&](std::int64_t rows) {
    return Tensor::full({1}, double(rows), DType::i64, hidden.place());
  };
  return {{"global_permuted_hidden_states", index_select(arrived, 0, order)},
          {"global_rows", count(arriving)},
          {"routing_map", routing_map},
          {"mapping", mapping},
          {"mapping_rows", count(mapping.numel())}};
}

// K distinct experts per token: all alike; then preferences that differ between ranks; then the same K for
// all tokens of a rank. The splits are those that follow.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const Group& world = ctx.world();
  Tensor mask = in["expert_mask"], tokens_of_chunk = in["num_global_tokens_per_local_expert"];
  const std::int64_t experts = mask.size(0), chosen = mask.size(1), tokens = mask.size(2),
                     local = experts / world.size();
  constexpr Routing kRouting[] = {Routing::even, Routing::preferring, Routing::same};
  const Tensor selected = random_experts(tokens, experts, chosen, kRouting[request.trial % 3], mask.place(),
                                         request.key(0, world.rank()));
  mask.copy_(one_hot(selected, experts).permute({2, 1, 0}));

  const Tensor counts = bincount(selected.reshape({tokens * chosen}), experts);
  Tensor everyones = Tensor::empty({world.size(), experts}, DType::i64, mask.place());
  world.all_gather_into_tensor(everyones, counts);
  tokens_of_chunk.copy_(everyones.narrow(1, world.rank() * local, local));
  Tensor sent = in["input_splits"], received = in["output_splits"];
  sent.copy_(sum(counts.view({world.size(), local}), {.dimensions = {1}}));
  received.copy_(sum(tokens_of_chunk, {.dimensions = {1}}));
}

}  // namespace pkb
