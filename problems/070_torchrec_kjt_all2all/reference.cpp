// SPDX-License-Identifier: Apache-2.0
#include <vector>

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

std::int64_t sum_of(const Tensor& counts) { return sum(counts).integers()[0]; }

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
  const Tensor keys = tensor_of(splits, place);
  const std::int64_t features = sum_of(keys);

  // Batch sizes: of this rank's features, and of the own features on all ranks.
  const Tensor strides = per_key ? in["stride_per_key"] : in["batch_size"].expand({features}).contiguous();
  Tensor batches = Tensor::empty({ranks}, DType::i32, place), arriving;  // (W, own)
  if (per_key) {
    arriving =
        all_to_all_rows(world, strides.to(DType::i32), splits, Counts(splits.size(), own)).to(DType::i64);
  } else {
    world.all_gather_into_tensor(batches, in["batch_size"].to(DType::i32));
    arriving = batches.to(DType::i64).unsqueeze(1).expand({ranks, own}).contiguous();
  }
  arriving = arriving.view({ranks, own});

  // Lengths, then values: what they add up to per feature says how many values go where.
  const Tensor lengths = in["lengths"].narrow(0, 0, sum_of(strides)), ids = segment_sum(lengths, strides);
  const Tensor bags = all_to_all_rows(world, lengths.to(DType::i32), segment_sum(strides, keys).integers(),
                                      sum(arriving, {.dimensions = {1}}).integers())
                          .to(DType::i64);
  const Tensor segments = arriving.view({ranks * own}), arriving_ids = segment_sum(bags, segments);
  const auto values_of = [&](const Tensor& of_ids) {
    return all_to_all_rows(world, of_ids.narrow(0, 0, sum_of(ids)), segment_sum(ids, keys).integers(),
                           sum(arriving_ids.view({ranks, own}), {.dimensions = {1}}).integers());
  };
  const Tensor values = values_of(in["values"]);

  // They arrive by source, then feature; they leave by feature, then source.
  const Tensor sources = source_order(ranks, ctx.param("stagger"), place);
  const auto by_feature = [&](const Tensor& by_source) { return index_select(by_source, 0, sources).t(); };
  const Tensor order =
      by_feature(arange(ranks * own, DType::i64, place).view({ranks, own})).reshape({ranks * own});
  Tensor weights = in["weights"].clone();
  if (weighted) weights = permute_segments(values_of(in["weights"]), arriving_ids, order);
  const Tensor none = Tensor::zeros({0}, DType::i64, place);
  return {{"values_out", permute_segments(values, arriving_ids, order)},
          {"lengths_out", permute_segments(bags, segments, order)},
          {"weights_out", weights},
          {"values_count", sum(bags).view({1})},
          {"lengths_count", sum(arriving).view({1})},
          {"stride", per_key ? none : sum(batches).view({1})},
          {"stride_per_rank", per_key ? none : batches.to(DType::i64)},
          {"stride_per_key_per_rank",
           per_key ? by_feature(arriving).contiguous() : Tensor::zeros({0, ranks}, DType::i64, place)}};
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
