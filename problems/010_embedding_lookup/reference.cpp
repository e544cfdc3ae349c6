// SPDX-License-Identifier: Apache-2.0
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/sorting.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Tensor &indices = in["indices"], &shard = in["local_shard"];
  const std::int64_t rows = shard.size(0), width = shard.size(1);
  const auto empty = [&](std::int64_t count, const Tensor& like, Shape rest) {
    rest.insert(rest.begin(), count);
    return Tensor::empty(std::move(rest), like.dtype(), like.place());
  };

  // Requests grouped by owner, and how many go to and come from each rank.
  const Tensor owner = floor_divide(indices, rows);
  const Tensor send_counts = bincount(owner, world.size()), order = argsort(owner);
  Tensor receive_counts = send_counts.empty_like();
  world.all_to_all_single(receive_counts, send_counts);
  const std::vector<std::int64_t> sent = send_counts.integers(), received = receive_counts.integers();

  Tensor asked = empty(sum(receive_counts).integers()[0], indices, {});
  world.all_to_all_single(asked, index_select(indices, 0, order), received, sent);
  Tensor grouped = empty(indices.numel(), shard, {width});
  const Tensor local = asked - static_cast<double>(world.rank() * rows);
  world.all_to_all_single(grouped, embedding(local, shard), sent, received);
  const int request_order = ctx.param("request_order");
  if (request_order == 0) return {{"output_vectors", grouped}};
  Tensor out = grouped.empty_like();
  index_copy_(out, order, grouped);
  return {{"output_vectors", out}};
}

// Uniform ids, then ids that crowd at the low end, then all ranks asking the last owner only.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor indices = in["indices"];
  const double rows = static_cast<double>(in["local_shard"].size(0)), ranks = ctx.world().size();
  const RandomKey key = request.key(0, ctx.world().rank());
  if (request.trial % 3 == 1) {
    Tensor u = Tensor::empty(indices.shape(), DType::f64, indices.place());
    random_fill(u, {.kind = Distribution::Kind::uniform}, key);
    indices.copy_(square(square(u)) * (rows * ranks));  // truncated
    return;
  }
  const double first = request.trial % 3 == 2 ? (ranks - 1) * rows : 0;
  random_fill(indices, {.kind = Distribution::Kind::integers, .low = first, .high = ranks * rows - 1}, key);
}

}  // namespace pkb
