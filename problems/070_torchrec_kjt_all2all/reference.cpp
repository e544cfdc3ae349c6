// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/segments.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

/// How many features each rank owns.
Counts key_splits(Context& ctx) {
  const std::int64_t features = ctx.param("features"), spread = ctx.param("spread"),
                     shift = ctx.param("shift");
  Counts keys;
  for (int d = 0; d < ctx.world().size(); ++d) keys.push_back(features + (d + shift) % spread);
  return keys;
}

/// The sums of lengths[0] consecutive counts, of the next lengths[1] and so on.
Counts sums(const Counts& counts, const Counts& lengths) {
  Counts result;
  auto next = counts.begin();
  for (const std::int64_t length : lengths) {
    result.push_back(std::accumulate(next, next + length, std::int64_t{0}));
    next += length;
  }
  return result;
}

/// Sources in the order x + W/stagger * y, x outside, y below stagger inside.
Tensor source_order(std::int64_t ranks, std::int64_t stagger, Place place) {
  return arange(ranks, DType::i64, place).view({stagger, ranks / stagger}).t().reshape({ranks});
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const Place place = in["lengths"].place();
  const Counts splits = key_splits(ctx);
  const std::int64_t ranks = world.size(), own = splits[static_cast<std::size_t>(world.rank())];
  const int per_key = ctx.param("per_key"), weighted = ctx.param("weighted");
  const std::int64_t features = total(splits);
  const Counts own_each(splits.size(), own);

  // Batch sizes: of this rank's features, and of the own features on all ranks.
  const Tensor strides = per_key ? in["stride_per_key"] : in["batch_size"].expand({features}).contiguous();
  Tensor batches = Tensor::empty({ranks}, DType::i32, place), arriving;  // (W own)
  if (per_key) {
    arriving = all_to_all_rows(world, strides.to(DType::i32), splits, own_each).to(DType::i64);
  } else {
    world.all_gather_into_tensor(batches, in["batch_size"].to(DType::i32));
    arriving = batches.to(DType::i64).unsqueeze(1).expand({ranks, own}).contiguous().view({ranks * own});
  }

  // Lengths, then values: what they add up to per feature says how many values go where. The host waits for
  // the counts of either, as it does for what it must know to receive.
  const Counts sent_bags = sums(strides.integers(), splits),
               received_bags = sums(arriving.integers(), own_each);
  const Tensor lengths = in["lengths"].narrow(0, 0, total(sent_bags)), ids = segment_sum(lengths, strides);
  const Tensor bags = all_to_all_rows(world, lengths.to(DType::i32), sent_bags, received_bags).to(DType::i64);
  const Tensor arriving_ids = segment_sum(bags, arriving);
  const Counts sent_ids = sums(ids.integers(), splits),
               received_ids = sums(arriving_ids.integers(), own_each);
  const auto values_of = [&](const Tensor& of_ids) {
    return all_to_all_rows(world, of_ids.narrow(0, 0, total(sent_ids)), sent_ids, received_ids);
  };

  // They arrive by source, then feature; they leave by feature, then source.
  const Tensor sources = source_order(ranks, ctx.param("stagger"), place);
  const auto by_feature = [&](const Tensor& by_source) { return index_select(by_source, 0, sources).t(); };
  const Tensor order =
      by_feature(arange(ranks * own, DType::i64, place).view({ranks, own})).reshape({ranks * own});
  const auto permuted = [&](const Tensor& values, const Tensor& segments) {
    return permute_segments(values, segments, order, values.size(0));
  };
  const Tensor none = Tensor::zeros({0}, DType::i64, place);
  return {
      {"values_out", permuted(values_of(in["values"]), arriving_ids)},
      {"lengths_out", permuted(bags, arriving)},
      {"weights_out", weighted ? permuted(values_of(in["weights"]), arriving_ids) : in["weights"].clone()},
      {"values_count", sum(bags).view({1})},
      {"lengths_count", sum(arriving).view({1})},
      {"stride", per_key ? none : sum(batches).view({1})},
      {"stride_per_rank", per_key ? none : batches.to(DType::i64)},
      {"stride_per_key_per_rank", per_key ? by_feature(arriving.view({ranks, own})).contiguous()
                                          : Tensor::zeros({0, ranks}, DType::i64, place)}};
}

// Rank 0 always has as many samples as there is room for, with bags of any size. The others: alike; then
// fewer samples from rank to rank and mostly short bags; then rank 1 without samples, rank 2 with empty bags
// and few full ones.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const std::int64_t most = ctx.param("B"), longest = ctx.param("L");
  const int rank = ctx.world().rank(), ranks = ctx.world().size();
  const std::uint32_t kind = rank == 0 ? 0 : request.trial % 3;
  Tensor lengths = in["lengths"], batch = in["batch_size"], strides = in["stride_per_key"];
  const auto random = [&](const Shape& shape, std::int64_t high, int number) {
    Tensor t = Tensor::empty(shape, DType::i64, lengths.place());
    random_fill(t, {.kind = Distribution::Kind::integers, .low = 0, .high = static_cast<double>(high)},
                request.key(number, rank));
    return t;
  };
  const std::int64_t samples = kind == 1 ? most * (ranks - rank) / ranks : kind == 2 && rank == 1 ? 0 : most;
  batch.fill_(static_cast<double>(samples));
  if (rank == 0)
    strides.fill_(static_cast<double>(most));
  else
    strides.copy_(random(strides.shape(), samples, 0));
  const Tensor any = random(lengths.shape(), longest, 1);
  lengths.copy_(any);
  if (kind == 1) lengths.copy_(floor_divide(any * random(lengths.shape(), longest, 2), longest));
  if (kind == 2 && rank == 2)
    lengths.copy_(
        masked_fill(Tensor::full(lengths.shape(), static_cast<double>(longest), DType::i64, lengths.place()),
                    gt(random(lengths.shape(), 29, 2), 0), 0));
}

}  // namespace pkb
