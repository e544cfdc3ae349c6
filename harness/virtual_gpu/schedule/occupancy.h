// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/schedule/chip.h"

namespace pkb::virtual_gpu {

/// What one block takes from an SM.
struct Occupancy {
  std::uint32_t warps = 0;
  std::uint32_t registers = 0;  ///< by all its warps: each takes an equal share of its sub-partition
  std::uint32_t shared = 0;     ///< bytes as allocated
};

struct BlockShape {
  std::uint64_t threads = 1;
  std::uint32_t registers_per_thread = 32;
  std::uint64_t shared = 0;  ///< static and dynamic
};
Occupancy occupancy(const Chip& chip, const BlockShape& shape);

/// How many such blocks an empty SM holds; 0 when not even one fits. NVIDIA's occupancy rules.
int blocks_per_sm(const Chip& chip, const BlockShape& shape);

/// Whether a processing cluster takes clusters of `size` blocks at all: an H200 wants as many SMs, however many blocks
/// an SM has room for.
constexpr bool holds_cluster(std::size_t sms, std::size_t size) { return sms >= size; }

/// How many clusters of `size` such blocks an empty chip holds at once; 0 when not even one fits.
int active_clusters(const Chip& chip, const BlockShape& shape, std::uint64_t size);

/// The most registers per thread with which a block of so many threads can start.
std::uint32_t most_registers(const Chip& chip, std::uint64_t threads);

/// A kernel's registers within the limits that its launch bounds set.
std::uint32_t registers_per_thread(const Chip& chip, const Kernel& kernel);

/// The shape of a kernel's blocks. A kernel's registers are an estimate of ptxas's count, so they never make a
/// block that is too large to start.
BlockShape shape_of(const Chip& chip, const Kernel& kernel, std::uint64_t threads, std::uint64_t dynamic_shared);

}  // namespace pkb::virtual_gpu
