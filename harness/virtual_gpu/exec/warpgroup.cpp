// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/warpgroup.h"

namespace pkb::virtual_gpu {

Warpgroup::Arrival Warpgroup::arrive(std::uint32_t member, const Instruction* instruction) {
  constexpr std::uint32_t kAll = (1u << kWarps) - 1;
  if (x_arrived != 0 && x_place != instruction) return Arrival::elsewhere;
  x_place = instruction;
  x_arrived |= 1u << member;
  if (x_arrived != kAll) return Arrival::waits;
  x_arrived = 0;
  return Arrival::last;
}

void Warpgroup::commit(std::uint32_t member) {
  const std::uint32_t group = ++x_groups[member];
  for (Operation& operation : x_pending)
    if (operation.group[member] == 0) operation.group[member] = group;
}

void Warpgroup::wait(std::uint32_t member, std::uint32_t left) {
  constexpr std::uint32_t kAll = (1u << kWarps) - 1;
  for (Operation& operation : x_pending)
    if (operation.group[member] != 0 && x_groups[member] - operation.group[member] >= left)
      operation.waited |= 1u << member;
  std::erase_if(x_pending, [](const Operation& operation) { return operation.waited == kAll; });
}

}  // namespace pkb::virtual_gpu
