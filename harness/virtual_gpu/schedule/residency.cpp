// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/schedule/residency.h"

#include <algorithm>

namespace pkb::virtual_gpu {

Residency::Residency(const Chip& chip)
    : x_sms(static_cast<std::size_t>(chip.sm_count),
            Sm{.blocks = static_cast<std::uint32_t>(chip.blocks_per_sm),
               .warps = static_cast<std::uint32_t>(chip.warps_per_sm),
               .registers = static_cast<std::uint32_t>(chip.registers_per_sm),
               .shared = static_cast<std::uint32_t>(chip.shared_per_sm)}) {
  std::uint32_t end = 0;
  for (const int sms : chip.gpc_sms) x_gpc_ends.push_back(end += static_cast<std::uint32_t>(sms));
}

bool Residency::fits(const Sm& sm, const Occupancy& needs) {
  return sm.blocks > 0 && sm.warps >= needs.warps && sm.registers >= needs.registers && sm.shared >= needs.shared;
}

void Residency::take_from(Sm& sm, const Occupancy& needs) {
  --sm.blocks;
  sm.warps -= needs.warps;
  sm.registers -= needs.registers;
  sm.shared -= needs.shared;
}

std::optional<std::uint32_t> Residency::take(const Occupancy& needs) {
  const auto count = static_cast<std::uint32_t>(x_sms.size());
  for (std::uint32_t tried = 0; tried < count; ++tried) {
    const std::uint32_t index = (x_next + tried) % count;
    Sm& sm = x_sms[index];
    if (!fits(sm, needs)) continue;
    take_from(sm, needs);
    x_next = (index + 1) % count;
    return index;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> Residency::take_cluster(const Occupancy& needs, std::size_t blocks) {
  const auto gpcs = static_cast<std::uint32_t>(x_gpc_ends.size());
  for (std::uint32_t tried = 0; tried < gpcs; ++tried) {
    const std::uint32_t gpc = (x_next_gpc + tried) % gpcs;
    const std::uint32_t begin = gpc == 0 ? 0 : x_gpc_ends[gpc - 1], end = x_gpc_ends[gpc];
    if (!holds_cluster(end - begin, blocks)) continue;
    // One block an SM and round again, in a copy, since the room may not suffice.
    std::vector<Sm> sms(x_sms.begin() + begin, x_sms.begin() + end);
    std::vector<std::uint32_t> taken;
    for (bool found = true; found && taken.size() < blocks;) {
      found = false;
      for (std::uint32_t i = 0; i < sms.size() && taken.size() < blocks; ++i) {
        if (!fits(sms[i], needs)) continue;
        take_from(sms[i], needs);
        taken.push_back(begin + i);
        found = true;
      }
    }
    if (taken.size() < blocks) continue;
    std::copy(sms.begin(), sms.end(), x_sms.begin() + begin);
    x_next_gpc = (gpc + 1) % gpcs;
    return taken;
  }
  return {};
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
