// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {

/// The blocks of a cluster, which run together: their warps take turns in one host thread, so that what they share
/// needs no locks. A block of a launch without clusters is one of its own.
class ClusterState {
 public:
  /// `index` counts clusters in the order of their first blocks; `sms` has the place of every block.
  ClusterState(const Launch& launch, Memory& memory, std::uint64_t index, std::span<const std::uint32_t> sms);

  Block::Outcome run(std::uint32_t budget, std::uint64_t seed);

  std::uint32_t size() const { return static_cast<std::uint32_t>(x_blocks.size()); }
  /// Null where the cluster has no such rank.
  BlockState* block(std::uint64_t rank) { return rank < x_blocks.size() ? x_blocks[rank].get() : nullptr; }
  bool has_fault() const;
  const Fault& fault() const;  ///< where there is one
  const Counters& counters();
  bool may_go_on() const;  ///< as Block's
  std::uint64_t progress_count() const;
  std::uint32_t triggered() const;
  std::vector<Wait> waits(std::uint64_t budget);

  // The cluster's barrier (barrier.cluster), for the executing lanes of `warp`.

  void arrive(Warp& warp, const Instruction& in);
  void wait(Warp& warp, const Instruction& in);
  /// Threads have exited: the barrier may have become complete.
  void exited();

  // For asynchronous copies and delayed stores.

  /// When one that is issued now is to be performed, in turns of warps.
  std::uint64_t draw_due();
  /// Whether a store that is made now is to be delayed.
  bool draws_delay();
  void add_pending(std::int64_t operations) { x_pending += operations; }

 private:
  void perform_due(std::uint64_t now);
  void perform_next();
  Block::Outcome watch_polling();
  void stuck();
  void stuck(BlockState& block, std::uint32_t warp);
  void complete_barrier();

  std::vector<std::unique_ptr<BlockState>> x_blocks;  ///< by rank
  std::uint64_t x_random = 0;  ///< state of the schedule; 0: everything in order and soon
  std::uint64_t x_now = 0;     ///< turns taken by warps
  std::int64_t x_pending = 0;  ///< of them, issued and not performed
  Counters x_counters;
  check::ClockPtr x_arrived = check::empty_clock(), x_completed = check::empty_clock();  ///< at the barrier
};

}  // namespace pkb::virtual_gpu
