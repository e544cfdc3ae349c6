// SPDX-License-Identifier: Apache-2.0
#include "reference/expert_parallel.h"

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/segments.h"
#include "reference/sorting.h"

namespace pkb::ref {

Tensor by_local_expert(const Tensor& chunks) {
  const auto in_new_order = [](const Tensor& of_chunk) { return of_chunk.t().reshape({of_chunk.numel()}); };
  const Tensor lengths = chunks.reshape({chunks.numel()}), starts = cumsum(lengths) - lengths;
  return segment_indices(in_new_order(starts.view(chunks.shape())), in_new_order(chunks));
}

ExpertRoutes expert_routes(const Group& group, const Tensor& selected, std::int64_t experts) {
  const std::int64_t ranks = group.size(), local = experts / ranks;
  require(selected.dim() == 2, "expert_routes: selected must be (tokens, chosen), not {}", selected.shape());
  require(experts % ranks == 0, "expert_routes: {} experts over {} ranks", experts, ranks);
  const Tensor flat = selected.reshape({selected.numel()}), counts = bincount(flat, experts);
  Tensor everyones = Tensor::empty({ranks, experts}, DType::i64, selected.place());
  group.all_gather_into_tensor(everyones, counts);
  const Tensor slots = argsort(flat);
  // They decide about shapes: to the host once, where what follows from them costs no launches.
  everyones = everyones.to(Place::host);
  const Tensor own = everyones[group.rank()].view({ranks, local}), chunks = everyones.narrow(1, group.rank() * local, local);
  return {.slots = slots,
          .tokens = floor_divide(slots, selected.size(1)),
          .sent = sum(own, {.dimensions = {1}}).integers(),
          .received = sum(chunks, {.dimensions = {1}}).integers(),
          .order = by_local_expert(chunks).to(selected.place()),
          .of_expert = sum(chunks, {.dimensions = {0}}).integers()};
}

Tensor dispatched(const Group& group, const ExpertRoutes& routes, const Tensor& hidden) {
  const Tensor arrived = all_to_all_rows(group, index_select(hidden, 0, routes.tokens), routes.sent, routes.received);
  return index_select(arrived, 0, routes.order);
}

Tensor returned(const Group& group, const ExpertRoutes& routes, const Tensor& rows) {
  Tensor by_source = rows.empty_like();
  index_copy_(by_source, routes.order, rows);
  return all_to_all_rows(group, by_source, routes.received, routes.sent);
}

}  // namespace pkb::ref
