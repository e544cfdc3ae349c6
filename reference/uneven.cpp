// SPDX-License-Identifier: Apache-2.0
#include "reference/uneven.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "reference/indexing.h"

namespace pkb::ref {
namespace {

/// The shape of `count` rows like those of `rows`.
Shape with_rows(const Tensor& rows, std::int64_t count) {
  Shape shape = rows.shape();
  require(!shape.empty(), "rows: a tensor without dimensions has none");
  shape[0] = count;
  return shape;
}

std::int64_t shard_size(const Group& group, std::int64_t elements) { return (elements + group.size() - 1) / group.size(); }

/// Elements of this rank's shard.
std::int64_t own_size(const Group& group, std::int64_t elements) {
  const std::int64_t each = shard_size(group, elements);
  return std::clamp(elements - group.rank() * each, std::int64_t{0}, each);
}

Tensor padded(const Tensor& flat, std::int64_t length) {
  return flat.numel() == length ? flat : pad(flat, 0, 0, length - flat.numel());
}

}  // namespace

std::int64_t total(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), std::int64_t{0}); }

Tensor tensor_of(const Counts& counts, Place place) {
  return Tensor::from_values(std::vector<double>(counts.begin(), counts.end()), {static_cast<std::int64_t>(counts.size())},
                             DType::i64, place);
}

Counts all_gather_counts(const Group& group, std::int64_t mine, Place place) {
  Tensor all = Tensor::empty({group.size()}, DType::i64, place);
  group.all_gather_into_tensor(all, tensor_of({mine}, place));
  return all.integers();
}

Counts all_to_all_counts(const Group& group, const Counts& mine, Place place) {
  require(std::ranges::all_of(mine, [](std::int64_t each) { return each >= 0 && each <= std::numeric_limits<std::int32_t>::max(); }),
          "all_to_all_counts: {} beyond int32", mine);
  const Tensor sent = tensor_of(mine, place).to(DType::i32);
  Tensor received = sent.empty_like();
  group.all_to_all_single(received, sent);
  return received.integers();
}

Tensor all_to_all_rows(const Group& group, const Tensor& rows, const Counts& sent, const Counts& received) {
  Tensor out = Tensor::empty(with_rows(rows, total(received)), rows.dtype(), rows.place());
  group.all_to_all_single(out, rows, received, sent);
  return out;
}

Tensor all_to_all_rows(const Group& group, const Tensor& rows, const Counts& sent) {
  return all_to_all_rows(group, rows, sent, all_to_all_counts(group, sent, rows.place()));
}

Tensor all_gather_rows(const Group& group, const Tensor& rows, const Counts& counts) {
  require(static_cast<int>(counts.size()) == group.size() && counts[static_cast<std::size_t>(group.rank())] == rows.size(0),
          "all_gather_rows: {} rows on rank {}, but counts {}", rows.size(0), group.rank(), counts);
  const Tensor all = Tensor::zeros(with_rows(rows, total(counts)), rows.dtype(), rows.place());
  const std::vector<Tensor> of_rank = all.split(counts);
  for (int r = 0; r < group.size(); ++r) {
    Tensor part = of_rank[static_cast<std::size_t>(r)];
    if (r == group.rank()) part.copy_(rows);
    if (part.numel() > 0) group.broadcast(part, r);
  }
  return all;
}

Tensor own_shard(const Group& group, const Tensor& flat) {
  const std::int64_t begin = std::min(group.rank() * shard_size(group, flat.numel()), flat.numel());
  return flat.narrow(0, begin, own_size(group, flat.numel()));
}

Tensor all_gather_shards(const Group& group, const Tensor& shard, std::int64_t elements) {
  require(shard.numel() == own_size(group, elements), "all_gather_shards: {} elements on rank {} of a vector of {}", shard.numel(),
          group.rank(), elements);
  const std::int64_t each = shard_size(group, elements);
  Tensor all = Tensor::empty({group.size() * each}, shard.dtype(), shard.place());
  group.all_gather_into_tensor(all, padded(shard, each));
  return all.narrow(0, 0, elements);
}

Tensor reduce_scatter_shards(const Group& group, const Tensor& flat) {
  const std::int64_t each = shard_size(group, flat.numel());
  Tensor out = Tensor::empty({each}, flat.dtype(), flat.place());
  group.reduce_scatter_tensor(out, padded(flat, group.size() * each), Reduce::sum);
  return out.narrow(0, 0, own_size(group, flat.numel()));
}

}  // namespace pkb::ref
