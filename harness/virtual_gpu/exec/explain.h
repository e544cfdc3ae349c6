// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/exec/wait.h"
#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// What a polling warp reads again and again, and the values that would let it go on: found by executing one turn
/// of its loop, at most `budget` instructions. Empty where nothing was recognised.
std::vector<Wait> explain_polling(Warp& warp, std::uint64_t budget);

}  // namespace pkb::virtual_gpu
