// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "harness/virtual_gpu/schedule/occupancy.h"

namespace pkb::virtual_gpu {

/// Which blocks the SMs can hold at once: what makes a grid larger than the chip wait for its own end.
class Residency {
 public:
  explicit Residency(const Chip& chip);

  /// Takes room for one block on an SM, going round the SMs as the hardware does; nothing when the chip is full.
  std::optional<std::uint32_t> take(const Occupancy& needs);
  /// The same for the blocks of a cluster, all on SMs of one processing cluster; empty when none has the room.
  std::vector<std::uint32_t> take_cluster(const Occupancy& needs, std::size_t blocks);
  void release(std::uint32_t sm, const Occupancy& needs);

 private:
  struct Sm {
    std::uint32_t blocks = 0, warps = 0, registers = 0, shared = 0;  ///< free
  };
  static bool fits(const Sm& sm, const Occupancy& needs);
  static void take_from(Sm& sm, const Occupancy& needs);

  std::vector<Sm> x_sms;
  std::vector<std::uint32_t> x_gpc_ends;  ///< of each processing cluster: the SM behind its last
  std::uint32_t x_next = 0, x_next_gpc = 0;
};

}  // namespace pkb::virtual_gpu
