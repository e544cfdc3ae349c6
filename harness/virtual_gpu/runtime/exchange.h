// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

namespace pkb::virtual_gpu {

/// Processes, one virtual GPU each, that pass a number round a ring: each waits in a kernel for its flag in shared
/// memory and then sets its neighbour's. Runs the program `exchange_rank` for each. Returns what one round took
/// on average, from the first launch on. @throws std::runtime_error when a process fails or `deadline` passes
std::chrono::nanoseconds exchange_round(int ranks, unsigned rounds, std::chrono::seconds deadline);

}  // namespace pkb::virtual_gpu
