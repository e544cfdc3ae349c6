// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/virtual_gpu/check/stamp.h"

namespace pkb::virtual_gpu::check {

/// Up to which moment something is known of `key`.
struct Known {
  std::uint32_t key = 0, time = 0;
  bool operator==(const Known&) const = default;
};
/// Sorted by key. A block's barrier makes its warps know the same of each other, so most of what is known of a
/// block is one number.
using KnownList = std::vector<Known>;

/// All accesses that happen before some point: a vector clock over the threads of all ranks, in which whole
/// grids, whole blocks, whole warps and single threads have entries.
struct Clock {
  struct Interval {
    std::uint32_t first = 0, end = 0;  ///< blocks
    bool operator==(const Interval&) const = default;
  };
  std::vector<Interval> ended;  ///< blocks of which everything is known; sorted, disjoint
  KnownList blocks;             ///< by block: all its warps up to `time`
  KnownList warps;              ///< by block * kAgents + agent: all its lanes
  KnownList threads;            ///< by Thread

  bool knows(Stamp stamp) const;
  /// Of what all lanes of its warp did at that time.
  bool knows_warp(Stamp stamp) const;
  void join(const Clock& other);
  void add_ended(std::uint32_t first, std::uint32_t end);
  bool operator==(const Clock&) const = default;

  /// As words, for memory that processes share.
  std::vector<std::uint32_t> encode() const;
  /// Trusts nothing about `words`: an empty clock when they are none.
  static Clock decode(std::span<const std::uint32_t> words);
};
using ClockPtr = std::shared_ptr<const Clock>;

/// The clock of what has no past.
const ClockPtr& empty_clock();
/// One of the two where it already contains the other.
ClockPtr joined(const ClockPtr& a, const ClockPtr& b);

std::uint32_t time_of(const KnownList& list, std::uint32_t key);
void raise(KnownList& list, std::uint32_t key, std::uint32_t time);
void join(KnownList& list, const KnownList& other);

}  // namespace pkb::virtual_gpu::check
