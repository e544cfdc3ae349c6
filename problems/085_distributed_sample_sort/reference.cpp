// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <compare>
#include <vector>

#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/sorting.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

/// A key in the order of all: equal ones by rank, then by place in that rank's sorted keys.
struct Sample {
  double value;
  std::int64_t rank, place;
  auto operator<=>(const Sample&) const = default;
};

/// Regular samples of all ranks' sorted keys, as many per rank as there are ranks with keys.
std::vector<Sample> samples(const Group& world, const Tensor& sorted, const Counts& sizes, std::int64_t each) {
  const auto places = [&](std::int64_t size) {
    Counts result;
    for (std::int64_t i = 0; i < std::min(each, size); ++i)
      result.push_back(each < size ? (i + 1) * size / each - 1 : i);
    return result;
  };
  const Tensor own = index_select(sorted, 0, tensor_of(places(sorted.numel()), sorted.place())).to(DType::f64);
  Tensor all = Tensor::empty({world.size(), each}, DType::f64, sorted.place());
  world.all_gather_into_tensor(all, pad(own, 0, 0, each - own.numel()));
  const std::vector<double> values = all.values();
  std::vector<Sample> result;
  for (std::int64_t rank = 0; rank < world.size(); ++rank) {
    const Counts of_rank = places(sizes[static_cast<std::size_t>(rank)]);
    for (std::size_t i = 0; i < of_rank.size(); ++i)
      result.push_back({values[static_cast<std::size_t>(rank * each) + i], rank, of_rank[i]});
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace

// Parallel sorting by regular sampling: sort, cut at splitters from samples of all, exchange, sort, balance.
Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const int ranks = world.size(), rank = world.rank();
  const Tensor sorted = sort(in["keys"]).values;
  const Counts sizes = all_gather_counts(world, sorted.numel(), sorted.place());
  Counts holders;  // the ranks with keys, each of which gets a bucket
  for (int r = 0; r < ranks; ++r)
    if (sizes[static_cast<std::size_t>(r)] > 0) holders.push_back(r);
  if (holders.empty()) return {{"sorted", sorted}};

  const auto buckets = static_cast<std::int64_t>(holders.size());
  const std::vector<Sample> sampled = samples(world, sorted, sizes, buckets);
  Counts to_rank(static_cast<std::size_t>(ranks), 0);
  std::int64_t cut = 0;
  for (std::int64_t b = 0; b < buckets; ++b) {
    std::int64_t end = sorted.numel();
    if (b + 1 < buckets) {
      const auto place = (b + 1) * static_cast<std::int64_t>(sampled.size()) / buckets - 1;
      const Sample& splitter = sampled[static_cast<std::size_t>(std::max<std::int64_t>(0, place))];
      const Tensor value = Tensor::full({1}, splitter.value, sorted.dtype(), sorted.place());
      end = splitter.rank == rank ? splitter.place + 1
                                  : searchsorted(sorted, value, {.right = rank < splitter.rank}).integers()[0];
      end = std::max(end, cut);
    }
    to_rank[static_cast<std::size_t>(holders[static_cast<std::size_t>(b)])] = end - cut;
    cut = end;
  }
  const Tensor bucket = sort(all_to_all_rows(world, sorted, to_rank)).values;

  // The buckets in rank order are the sorted sequence; rank d is to have its keys from start(d) on.
  const Counts filled = all_gather_counts(world, bucket.numel(), bucket.place());
  const auto start = [&](std::int64_t d) { return d * (total(sizes) / ranks) + std::min(d, total(sizes) % ranks); };
  const std::int64_t first = total({filled.begin(), filled.begin() + rank}), end = first + bucket.numel();
  Counts shares;
  for (int d = 0; d < ranks; ++d)
    shares.push_back(std::max<std::int64_t>(0, std::min(end, start(d + 1)) - std::max(first, start(d))));
  return {{"sorted", all_to_all_rows(world, bucket, shares)}};
}

// Few distinct keys on all ranks; keys that descend with the rank; keys of very uneven density with infinities; one
// key that almost all share. No -0.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor keys = in["keys"];
  const int rank = ctx.world().rank();
  const RandomKey key = request.key(0, rank);
  if (request.trial % 4 == 1) {
    random_fill(keys, {.mean = -2.0 * rank, .stddev = 1}, key);
  } else {
    random_fill(keys, {.kind = Distribution::Kind::integers, .low = -150, .high = 149}, key);
    const Tensor plain = keys.clone();
    if (request.trial % 4 == 2) keys.copy_(masked_fill(plain * plain * plain, gt(plain, 147), INFINITY));
    if (request.trial % 4 == 3) keys.copy_(masked_fill(plain, lt(plain, 140), 7));
  }
  keys.copy_(keys + 0.0);
}

}  // namespace pkb
