// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pkb::virtual_gpu {

/// What a launch can depend on in a GPU, from NVIDIA's data sheets and tuning guides; h200 as the CUDA runtime
/// reports it.
struct Chip {
  std::string_view name;          ///< "h200", as given to `--chip`
  std::string_view product_name;  ///< cudaDeviceProp::name
  int major, minor;               ///< compute capability
  int sm_count;
  std::size_t memory_bytes;
  int l2_bytes, memory_bus_bits;
  int clock_khz, memory_clock_khz;

  // The same on every chip so far.
  int warps_per_sm = 64, blocks_per_sm = 32;
  int registers_per_sm = 65536, registers_per_block = 65536;
  int sub_partitions = 4;       ///< of an SM: each has its share of the registers
  int register_unit = 256;      ///< registers are allocated to a warp in such pieces
  int shared_per_sm = 228 * 1024, shared_per_block = 227 * 1024;  ///< the latter when opted in to
  int default_shared_per_block = 48 * 1024;
  int reserved_shared = 1024;   ///< of each block, by the driver
  int shared_unit = 128;
  int max_block_threads = 1024;
  int constant_bytes = 64 * 1024;
  int portable_cluster = 8, max_cluster = 16;  ///< blocks; beyond the first a kernel has to ask for it

  /// SMs of each processing cluster (GPC), which a cluster of blocks does not leave; pairs of SMs that belong to none
  /// count as small ones. Which SMs a device has lost to yield differs from device to device: h200 is one that was
  /// measured, the others are what is common.
  std::array<int, 12> gpc_sms{};

  int architecture() const { return 10 * major + minor; }
};

/// @throws InputError that lists the known chips
const Chip& find_chip(std::string_view name);

}  // namespace pkb::virtual_gpu
