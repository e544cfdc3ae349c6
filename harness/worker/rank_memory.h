// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/device/memory.h"
#include "harness/worker/machine.h"
#include "harness/worker/protocol.h"

namespace pkb::worker {

/// The memory that the ranks share, as one of them has it mapped: every segment of every rank.
class RankMemory {
 public:
  RankMemory(Machine& machine, int rank) : x_machine(machine), x_rank(rank) {}
  ~RankMemory();
  RankMemory(const RankMemory&) = delete;
  RankMemory& operator=(const RankMemory&) = delete;

  /// Maps a segment of each rank. The first one is for the tensors of Args.
  void add(std::vector<FileDescriptor> descriptors, std::uint64_t bytes);
  /// Places tensors in the first segment, replacing those before.
  void place_tensors(const std::vector<TensorPlace>& tensors);
  /// Maps symmetric memory; this rank's copy. It stays until `drop_symmetric`.
  std::byte* add_symmetric(std::vector<FileDescriptor> descriptors, std::uint64_t bytes);
  void drop_symmetric();

  /// This rank's copy of the first segment.
  std::byte* tensors() const { return x_segments.at(0).copy_of.at(own()).data(); }
  std::byte* tensor(const TensorPlace& place) const { return tensors() + place.offset; }
  /// Where `rank` has what this rank has at `pointer`; null when that is in no segment.
  std::byte* peer(const std::byte* pointer, int rank) const;
  /// The multicast address of what this rank has at `pointer`; null when that is in no segment or the device has
  /// none.
  std::byte* multicast(const std::byte* pointer);

 private:
  struct RankSegment {
    std::vector<device::Segment> copy_of;  ///< by rank
    device::Segment multicast = {};        ///< made when first asked for
  };
  /// Index of the segment whose copy on this rank `pointer` points into; past the last when there is none.
  std::size_t segment_of(const std::byte* pointer) const;
  std::size_t own() const { return static_cast<std::size_t>(x_rank); }
  void withdraw_tensors();

  Machine& x_machine;
  int x_rank;
  std::vector<RankSegment> x_segments;
  std::vector<std::byte*> x_tensors;  ///< announced
  int x_symmetric = 0;                ///< named so far
};

}  // namespace pkb::worker
