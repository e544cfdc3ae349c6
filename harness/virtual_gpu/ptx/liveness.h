// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {

/// A block of a laid-out body: positions [begin, end) and the blocks that control may go to next.
struct PlacedBlock {
  std::uint32_t begin = 0, end = 0;
  std::vector<std::uint32_t> successors;
};

/// The positions from the first to the last at which a register's value may be needed or is written, ends
/// included.
struct Interval {
  static constexpr std::uint32_t kNever = ~0u;
  std::uint32_t first = kNever, last = 0;  ///< first is kNever for a register that the body does not name
};

/// Liveness along the paths of one lane. A write under a guard keeps the old value where the guard is false,
/// so the value before it stays live, if on some path there is one. A register that is read where no path has
/// written it is live from the entry.
/// @param blocks in order of position; the first is the entry
std::vector<Interval> live_intervals(const std::vector<Statement>& body,
                                     const std::vector<PlacedBlock>& blocks, std::size_t registers);

}  // namespace pkb::virtual_gpu::ptx
