// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// Runs `in.inner` in the lanes where the guard holds.
void run_guarded(Warp& warp, const Instruction& in);

void branch_always(Warp& warp, const Instruction& in);
/// Branches where predicate `in.guard` holds.
void branch_if(Warp& warp, const Instruction& in);

void raise_unsupported(Warp& warp, const Instruction& in);
/// Stands behind the last instruction of each function.
void run_off_the_end(Warp& warp, const Instruction& in);

}  // namespace pkb::virtual_gpu
