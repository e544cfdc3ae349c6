// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// Runs `in.inner` in the lanes where the guard holds.
void run_guarded(Warp& warp, const Instruction& in);

void branch_always(Warp& warp, const Instruction& in);
/// Branches where predicate `in.guard` holds.
void branch_if(Warp& warp, const Instruction& in);

/// Where control may go from instruction `index` of the code, within its function.
std::vector<std::uint32_t> successors(const Kernel& kernel, std::uint32_t index);
/// Whether its threads leave the function there.
bool leaves(const Instruction& in);

void raise_unsupported(Warp& warp, const Instruction& in);
/// Stands behind the last instruction of each function.
void run_off_the_end(Warp& warp, const Instruction& in);

/// A call's operands. They stand in lists[list ...]: the number of returns, then offset and bytes of each
/// return and each argument in the caller's local memory.
struct CallList {
  explicit CallList(const Kernel& kernel, const Instruction& in) {
    const std::uint32_t* at = kernel.lists.data() + in.list();
    returns = *at++;
    for (std::uint32_t i = 0; i < in.count; ++i, at += 2) values.push_back({at[0], at[1]});
  }
  std::uint32_t returns;
  std::vector<Kernel::Parameter> values;
};

}  // namespace pkb::virtual_gpu
