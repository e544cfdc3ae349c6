// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/residency.h"

namespace pkb::virtual_gpu {

Residency::Residency(const Chip& chip)
    : x_sms(static_cast<std::size_t>(chip.sm_count),
            Sm{.blocks = static_cast<std::uint32_t>(chip.blocks_per_sm),
               .warps = static_cast<std::uint32_t>(chip.warps_per_sm),
               .registers = static_cast<std::uint32_t>(chip.registers_per_sm),
               .shared = static_cast<std::uint32_t>(chip.shared_per_sm)}) {}

bool Residency::fits(const Sm& sm, const Occupancy& needs) const {
  return sm.blocks > 0 && sm.warps >= needs.warps && sm.registers >= needs.registers && sm.shared >= needs.shared;
}

std::optional<std::uint32_t> Residency::take(const Occupancy& needs) {
  const auto count = static_cast<std::uint32_t>(x_sms.size());
  for (std::uint32_t tried = 0; tried < count; ++tried) {
    const std::uint32_t index = (x_next + tried) % count;
    Sm& sm = x_sms[index];
    if (!fits(sm, needs)) continue;
    --sm.blocks;
    sm.warps -= needs.warps;
    sm.registers -= needs.registers;
    sm.shared -= needs.shared;
    x_next = (index + 1) % count;
    return index;
  }
  return std::nullopt;
}

void Residency::release(std::uint32_t index, const Occupancy& needs) {
  Sm& sm = x_sms[index];
  ++sm.blocks;
  sm.warps += needs.warps;
  sm.registers += needs.registers;
  sm.shared += needs.shared;
  x_next = index;  // on a full chip the next block finds its place at once
}

}  // namespace pkb::virtual_gpu
