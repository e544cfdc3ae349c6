// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pkb/candidate.h>

namespace pkb {

inline constexpr int kMaxRanks = 64;

/// Where every rank has its copy of one symmetric tensor or buffer. Kernels take it by value.
template <class U>
struct Peers {
  U* of_rank[kMaxRanks] = {};
  U* multicast = nullptr;  ///< the address of all copies at once, where the fabric has one
  int rank = 0, ranks = 0;

  /// The copy of rank `r`.
  __host__ __device__ U* operator[](int r) const { return of_rank[r]; }
  __host__ __device__ U* here() const { return of_rank[rank]; }
};

/// `here` points into a tensor of Args or into symmetric memory.
template <class U>
Peers<U> peers_of(const Context& ctx, U* here) {
  Peers<U> peers;
  peers.rank = ctx.rank(), peers.ranks = ctx.world_size();
  for (int r = 0; r < peers.ranks; ++r) peers.of_rank[r] = ctx.peer(here, r);
  peers.multicast = static_cast<U*>(ctx.multicast(here));
  return peers;
}

}  // namespace pkb
