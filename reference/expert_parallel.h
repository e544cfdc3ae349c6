// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/context.h"
#include "reference/tensor.h"
#include "reference/uneven.h"

/// Tokens on their way to the ranks of their experts and back. With L = experts / ranks, rank d of the group has experts d L to
/// (d + 1) L - 1.
namespace pkb::ref {

/// Rows arrive by source rank, then local expert, chunks[rank][expert] of each; their places when they are ordered by
/// local expert, then source rank. int64, where `chunks` is; waits for cuda.
Tensor by_local_expert(const Tensor& chunks);

/// Where the rows go that tokens send to their experts: a row for each of a token's slots, by expert, tokens ascending.
struct ExpertRoutes {
  Tensor slots;   ///< int64 per row: its place in the flattened (tokens, chosen)
  Tensor tokens;  ///< int64 per row: the token
  Counts sent, received;  ///< rows to and from each rank
  /// int64 per row received: which one, in the order of the ranks, comes next by local expert, then source rank, then token.
  Tensor order;
  Counts of_expert;  ///< rows for each local expert, from all ranks
};

/// `selected` (tokens, chosen) int64: distinct experts for each token. Waits for cuda, since shapes depend on it.
ExpertRoutes expert_routes(const Group& group, const Tensor& selected, std::int64_t experts);
/// The rows of `hidden` (tokens, ...) that are for this rank's experts, from all ranks, by expert, source rank and token.
Tensor dispatched(const Group& group, const ExpertRoutes& routes, const Tensor& hidden);
/// What became of them, back at their tokens, in the order of `routes.slots`.
Tensor returned(const Group& group, const ExpertRoutes& routes, const Tensor& rows);

}  // namespace pkb::ref
