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
  void release(std::uint32_t sm, const Occupancy& needs);

 private:
  struct Sm {
    std::uint32_t blocks = 0, warps = 0, registers = 0, shared = 0;  ///< free
  };
  bool fits(const Sm& sm, const Occupancy& needs) const;

  std::vector<Sm> x_sms;
  std::uint32_t x_next = 0;
};

}  // namespace pkb::virtual_gpu
