// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "reference/context.h"
#include "reference/tensor.h"

/// Messages whose lengths differ between ranks, and the counts that say how long they are. Counts live on the host,
/// as they decide about shapes; the place is that of the messages.
namespace pkb::ref {

using Counts = std::vector<std::int64_t>;

std::int64_t total(const Counts& counts);
/// An int64 tensor of them.
Tensor tensor_of(const Counts& counts, Place place);

/// Everybody's number, in rank order.
Counts all_gather_counts(const Group& group, std::int64_t mine, Place place);
/// Number d to rank d; the numbers that the others have for this rank, in rank order. They travel as int32.
Counts all_to_all_counts(const Group& group, const Counts& mine, Place place);

/// The first counts[0] rows to rank 0 and so on; what arrives, by source rank.
Tensor all_to_all_rows(const Group& group, const Tensor& rows, const Counts& sent, const Counts& received);
/// The same where the receiver has yet to be told how much arrives.
Tensor all_to_all_rows(const Group& group, const Tensor& rows, const Counts& sent);
/// All ranks' rows in rank order; rank r has counts[r]. A broadcast from each rank, which is what
/// torch.distributed.all_gather does with tensors of different sizes on NCCL.
Tensor all_gather_rows(const Group& group, const Tensor& rows, const Counts& counts);

// A flat vector in one shard per rank, all of ceil(elements / ranks) but the last ones, which may be shorter: messages
// are padded with zeros, shards are not.

/// This rank's shard, a view.
Tensor own_shard(const Group& group, const Tensor& flat);
/// The vector of so many elements from everybody's shards.
Tensor all_gather_shards(const Group& group, const Tensor& shard, std::int64_t elements);
/// This rank's shard of the sum of all ranks' vectors.
Tensor reduce_scatter_shards(const Group& group, const Tensor& flat);

}  // namespace pkb::ref
