// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/cluster.h"

namespace pkb::virtual_gpu {

/// Calls `each(to, mbarrier)` for every block in `ranks` with its addresses, which are those of the issuing block
/// in that block's shared memory, as long as it returns true. False when it did not, and after a fault because the
/// cluster has no such block.
template <class Each>
bool each_destination(Warp& warp, const Instruction& in, int lane, std::uint32_t ranks, std::uint64_t to,
                      std::uint64_t mbarrier, Each each) {
  const std::uint32_t size = warp.block().cluster().size();
  for (std::uint32_t left = ranks; left != 0; left &= left - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(left));
    if (rank >= size) {
      warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                 fmt::format("multicast to block {} of a cluster of {}", rank, size));
      return false;
    }
    if (!each(cluster_address(rank, to), cluster_address(rank, mbarrier))) return false;
  }
  return true;
}

}  // namespace pkb::virtual_gpu
