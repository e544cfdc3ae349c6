// SPDX-License-Identifier: Apache-2.0
#include <numeric>
#include <vector>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/segments.h"
#include "reference/sorting.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

Tensor range(const Tensor& like) { return arange(like.numel(), DType::i64, like.place()); }

/// What the owners of `nodes` answer: neighbours and their edges, count[i] of nodes[i], in the order of
/// `nodes`.
struct Answer {
  Tensor count, node, edge;
};

Answer ask(const Group& world, const Tensors& in, const Tensor& nodes, std::int64_t fanout) {
  const Place place = nodes.place();
  // Each owner gets the nodes to look up, in order.
  const Tensor owner = index_select(in["node_to_rank"], 0, nodes), by_owner = argsort(owner);
  const Counts asked = bincount(owner, world.size()).integers(),
               asking = all_to_all_counts(world, asked, place);
  const Tensor wanted = all_to_all_rows(world, index_select(nodes, 0, by_owner), asked, asking);

  // The first neighbours of each, as they are stored.
  const Tensor first = index_select(in["colptr"], 0, wanted),
               degree = index_select(in["colptr"], 0, wanted + 1) - first;
  const Tensor taken = fanout < 0 ? degree : clamp(degree, 0, static_cast<double>(fanout));
  const Tensor edges = segment_indices(first, taken);

  // How many, then which: back to those who asked.
  const Tensor count = all_to_all_rows(world, taken.to(DType::i32), asking, asked).to(DType::i64);
  const Counts sent = segment_sum(taken, tensor_of(asking, place)).integers(),
               received = segment_sum(count, tensor_of(asked, place)).integers();
  const auto answered = [&](const char* name) {
    return all_to_all_rows(world, index_select(in[name], 0, edges), sent, received);
  };
  const Tensor node = answered("row"), edge = answered("edge_id"), back = argsort(by_owner);
  return {index_select(count, 0, back), permute_segments(node, count, back),
          permute_segments(edge, count, back)};
}

/// Every id once, in the order in which it occurs first.
Tensor first_occurrences(const Tensor& ids) {
  const Tensor counts = unique(ids).counts;
  const Tensor firsts =
      index_select(argsort(ids), 0, cumsum(counts) - counts);  // stable: a run begins with the first
  return index_select(ids, 0, sort(firsts).values);
}

}  // namespace

// All ranks take part in all hops: one that has nothing to ask still answers.
Tensors reference(Context& ctx, const Tensors& in) {
  Tensor node = in["seed_nodes"].clone(), frontier = node;
  const Tensor none = Tensor::zeros({0}, DType::i64, node.place());
  Tensor from = none, to = none, edge = none;
  for (const char* name : {"fanout_0", "fanout_1", "fanout_2"}) {
    const std::int64_t fanout = ctx.param(name), known = node.numel();
    if (fanout == 0) continue;
    const Answer found = ask(ctx.world(), in, frontier, fanout);
    from = cat({from, found.node});
    to = cat({to, index_select(frontier, 0, repeat_interleave(found.count))});
    edge = cat({edge, found.edge});
    node = first_occurrences(cat({node, found.node}));
    frontier = node.narrow(0, known, node.numel() - known);
  }
  Tensor place = Tensor::zeros({in["node_to_rank"].numel()}, DType::i64, node.place());
  index_copy_(place, node, range(node));
  return {{"node", node},
          {"row_out", index_select(place, 0, from)},
          {"col_out", index_select(place, 0, to)},
          {"edge_out", edge},
          {"nodes", tensor_of({node.numel()}, node.place())},
          {"edges", tensor_of({edge.numel()}, node.place())}};
}

// A random graph whose low ids are popular, with self-loops, multiple edges and nodes without edges. Owners
// are random; then blocks, and all seeds belong to the last rank; then random without rank 1, and rank 0's
// seeds have no edges.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const std::int64_t rank = ctx.world().rank(), ranks = ctx.world().size(),
                     nodes = in["node_to_rank"].numel(), largest = ctx.param("degree");
  const std::uint32_t kind = request.trial % 3;
  Tensor owner = in["node_to_rank"], seeds = in["seed_nodes"], colptr = in["colptr"], row = in["row"],
         edge_id = in["edge_id"];
  const auto random = [&](const Shape& shape, std::int64_t low, std::int64_t high, int number,
                          std::int64_t of = 0) {
    Tensor t = Tensor::empty(shape, DType::i64, owner.place());
    random_fill(t,
                {.kind = Distribution::Kind::integers,
                 .low = static_cast<double>(low),
                 .high = static_cast<double>(high)}, request.key(number, of));
    return t;
  };
  if (kind == 1) {
    owner.copy_(floor_divide(range(owner) * static_cast<double>(ranks), nodes));
  } else {
    owner.copy_(random({nodes}, 0, kind == 2 && ranks > 1 ? ranks - 2 : ranks - 1, 0));
    if (kind == 2) owner.copy_(owner + ge(owner, 1).to(DType::i64));
  }

  // All ranks know the whole graph's degrees, so that edges have one number each; room limits what a rank
  // keeps.
  const Tensor degrees = random({nodes}, 0, largest, 1) * random({nodes}, 0, largest, 2);
  const Tensor own = eq(owner, static_cast<double>(rank)).to(DType::i64) * degrees;
  const Tensor ends = clamp(cumsum(own), 0, static_cast<double>(row.numel()));
  colptr.copy_(cat({Tensor::zeros({1}, DType::i64, owner.place()), ends}));
  const Tensor kept = ends - colptr.narrow(0, 0, nodes), whole_ends = cumsum(degrees);
  const Tensor node = repeat_interleave(kept);
  const std::int64_t edges = node.numel();
  // Numbers descend within a node.
  const Tensor number = index_select(whole_ends + colptr.narrow(0, 0, nodes), 0, node) - range(node) - 1;
  const Tensor popular =
      floor_divide(random({edges}, 0, nodes - 1, 3, rank) * random({edges}, 1, nodes, 4, rank), nodes);
  const Tensor loops = eq(remainder(number, 17), 0);
  row.narrow(0, 0, edges).copy_(where(loops, node, popular));
  edge_id.narrow(0, 0, edges).copy_(number);
  row.narrow(0, edges, row.numel() - edges).fill_(static_cast<double>(nodes - 1));
  edge_id.narrow(0, edges, row.numel() - edges).fill_(-1);

  // Distinct seeds: steps through those that may be.
  Tensor eligible = range(owner);
  if (kind == 1) eligible = flatnonzero(eq(owner, static_cast<double>(ranks - 1)));
  if (kind == 2 && rank == 0) eligible = flatnonzero(eq(degrees, 0));
  if (eligible.numel() < seeds.numel()) eligible = range(owner);
  std::int64_t step = eligible.numel() * 5 / 8 + 1;
  while (std::gcd(step, eligible.numel()) != 1) ++step;
  const Tensor offset = range(seeds) * static_cast<double>(step) + static_cast<double>(37 * rank);
  seeds.copy_(index_select(eligible, 0, remainder(offset, eligible.numel())));
}

}  // namespace pkb
