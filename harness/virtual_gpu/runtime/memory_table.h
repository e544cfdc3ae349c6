// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "harness/virtual_gpu/exec/memory.h"

namespace pkb::virtual_gpu {

enum class MemoryKind : std::uint8_t {
  device,      ///< cudaMalloc and its relatives
  pinned,      ///< cudaMallocHost
  registered,  ///< the application's own memory, pinned by cudaHostRegister
  managed,
  variable,    ///< of a module
  segment,     ///< shared with other processes by register_memory
};
/// Kernels, and copies that say so, take it for the device's own.
constexpr bool is_device(MemoryKind kind) { return kind != MemoryKind::pinned && kind != MemoryKind::registered; }

struct MemoryRange {
  std::uint64_t base = 0, bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  ///< those of cudaHostAlloc or cudaHostRegister
};

/// All memory that the virtual device can access: what it is for the CUDA runtime. Keeps `Memory`, which the
/// kernels see, in step.
class MemoryTable {
 public:
  MemoryTable(Memory& memory, std::uint64_t capacity, int rank);

  struct Request {
    std::uint64_t bytes = 0;
    MemoryKind kind = MemoryKind::device;
    unsigned flags = 0;
    std::uint64_t align = 512;
    std::string name;      ///< empty: named by kind and number
    bool constant = false;
  };
  /// New memory, or nullptr when the device's capacity or the host's memory is used up.
  void* allocate(const Request& request);
  /// False unless memory of `kind` that `allocate` made starts at `base`.
  bool release(const void* base, MemoryKind kind);
  /// Releases all that `allocate` made.
  void release_all();

  /// Makes the caller's memory accessible. False when part of it is already.
  bool add(const MemoryRange& range, std::string name, int owner);
  /// False unless a range of `kind` that was added starts at `base`.
  bool remove(const void* base, MemoryKind kind);

  std::optional<MemoryRange> find(const void* address) const;
  std::uint64_t capacity() const { return x_capacity; }
  std::uint64_t used() const;

 private:
  struct Free {
    void operator()(void* storage) const;
  };
  struct Entry {
    MemoryRange range;
    std::unique_ptr<void, Free> storage;  ///< null for the caller's memory
  };
  bool overlaps(std::uint64_t base, std::uint64_t bytes) const;

  Memory& x_memory;
  const std::uint64_t x_capacity;
  const int x_rank;
  mutable std::mutex x_mutex;
  std::map<std::uint64_t, Entry> x_entries;  ///< by base
  std::uint64_t x_used = 0, x_numbered = 0;
};

}  // namespace pkb::virtual_gpu
