// SPDX-License-Identifier: Apache-2.0
#include "harness/worker/rank_memory.h"

#include <fmt/format.h>

namespace pkb::worker {

RankMemory::~RankMemory() {
  withdraw_tensors();
  drop_symmetric();
}

void RankMemory::add(std::vector<FileDescriptor> descriptors, std::uint64_t bytes) {
  RankSegment segment;
  for (FileDescriptor& each : descriptors)
    segment.copy_of.push_back(x_machine.import(std::move(each), bytes));
  x_segments.push_back(std::move(segment));
}

void RankMemory::place_tensors(const std::vector<TensorPlace>& tensors) {
  withdraw_tensors();
  if (x_segments.empty()) return;
  const std::vector<device::Segment>& copy_of = x_segments.front().copy_of;
  for (const TensorPlace& place : tensors) {
    for (std::size_t rank = 0; rank < copy_of.size(); ++rank) {
      const std::uint64_t bytes = place.bytes_of.at(rank);
      if (bytes == 0) continue;
      std::byte* const base = copy_of[rank].data() + place.offset;
      x_machine.announce(base, bytes, fmt::format("{} of rank {}", place.name, rank), static_cast<int>(rank),
                         place.role);
      x_tensors.push_back(base);
    }
  }
}

void RankMemory::withdraw_tensors() {
  for (std::byte* each : x_tensors) x_machine.withdraw(each);
  x_tensors.clear();
}

std::byte* RankMemory::add_symmetric(std::vector<FileDescriptor> descriptors, std::uint64_t bytes) {
  add(std::move(descriptors), bytes);
  const std::vector<device::Segment>& copy_of = x_segments.back().copy_of;
  for (std::size_t rank = 0; rank < copy_of.size(); ++rank)
    x_machine.announce(copy_of[rank].data(), bytes,
                       fmt::format("symmetric #{} of rank {}", x_symmetric, rank), static_cast<int>(rank),
                       device::Role::symmetric);
  ++x_symmetric;
  return copy_of[own()].data();
}

void RankMemory::drop_symmetric() {
  for (; x_segments.size() > 1; x_segments.pop_back())
    for (const device::Segment& each : x_segments.back().copy_of) x_machine.withdraw(each.data());
  x_symmetric = 0;
}

std::size_t RankMemory::segment_of(const std::byte* pointer) const {
  std::size_t i = 0;
  for (; i < x_segments.size(); ++i) {
    const device::Segment& mine = x_segments[i].copy_of[own()];
    // One past the end is a legitimate bound to translate.
    if (pointer >= mine.data() && pointer <= mine.data() + mine.bytes()) break;
  }
  return i;
}

std::byte* RankMemory::peer(const std::byte* pointer, int rank) const {
  const std::size_t i = segment_of(pointer);
  if (i == x_segments.size()) return nullptr;
  const RankSegment& segment = x_segments[i];
  return segment.copy_of[static_cast<std::size_t>(rank)].data() + (pointer - segment.copy_of[own()].data());
}

std::byte* RankMemory::multicast(const std::byte* pointer) {
  const std::size_t i = segment_of(pointer);
  if (i == x_segments.size()) return nullptr;
  RankSegment& segment = x_segments[i];
  if (segment.multicast.data() == nullptr) {
    const std::string what = i == 0 ? "the tensors" : fmt::format("symmetric #{}", i - 1);
    segment.multicast = x_machine.multicast(segment.copy_of, "the multicast address of " + what);
  }
  std::byte* const base = segment.multicast.data();
  return base == nullptr ? nullptr : base + (pointer - segment.copy_of[own()].data());
}

}  // namespace pkb::worker
