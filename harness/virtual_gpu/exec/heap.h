// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include "harness/virtual_gpu/exec/instruction.h"

namespace pkb::virtual_gpu {

/// The memory from which device code allocates by malloc: a range of global memory that belongs to the
/// device. Used by all its launches at once. What stands in it is known here only, so that no kernel can
/// spoil it.
class DeviceHeap {
 public:
  static constexpr std::uint64_t kAlignment = 16;

  DeviceHeap(std::uint64_t base, std::uint64_t bytes);
  /// Address of 4 bytes that stand for the lock which malloc and free take: what orders a range's last user
  /// before its next one.
  std::uint64_t lock() const { return x_lock; }
  /// 0 when there is no room.
  std::uint64_t allocate(std::uint64_t bytes);
  /// False when allocate() did not return `address`, or it was freed since.
  bool release(std::uint64_t address);

 private:
  std::uint64_t x_lock;
  std::mutex x_mutex;
  std::map<std::uint64_t, std::uint64_t> x_free,
      x_used;  ///< bytes by address; neighbours that are free are joined
};

/// void* malloc(size_t) and void free(void*): operands as in CallList.
void call_malloc(Warp& warp, const Instruction& in);
void call_free(Warp& warp, const Instruction& in);

}  // namespace pkb::virtual_gpu
