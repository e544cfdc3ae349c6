// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace pkb::virtual_gpu {

/// Combines the elements in `bytes` bytes at `from` into those at `to`, each in one atomic step.
using Combine = void (*)(std::byte* to, const std::byte* from, std::size_t bytes);

/// The reduction that `red` performs under this name, operation and type ("add.u32"); null if there is none.
/// `flushes`: f32 addition flushes subnormal numbers, as it does in global memory.
Combine find_reduction(std::string_view name, bool flushes);

}  // namespace pkb::virtual_gpu
