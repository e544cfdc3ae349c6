// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/virtual_gpu/check/checker.h"
#include "harness/virtual_gpu/exec/memory.h"
#include "harness/virtual_gpu/runtime/address_window.h"

namespace pkb::virtual_gpu {

enum class MemoryKind : std::uint8_t {
  device,      ///< cudaMalloc and its relatives
  pinned,      ///< cudaMallocHost
  registered,  ///< the application's own memory, pinned by cudaHostRegister
  managed,     ///< a __managed__ variable
  variable,    ///< another variable of a module
  segment,     ///< shared with other processes by register_memory
  mapped,      ///< by cuMemMap
};
/// The application may use it through the same pointers.
constexpr bool is_open_to_host(MemoryKind kind) {
  return kind == MemoryKind::pinned || kind == MemoryKind::registered || kind == MemoryKind::managed;
}
/// Kernels, and copies that say so, take it for the device's own.
constexpr bool is_device(MemoryKind kind) { return kind != MemoryKind::pinned && kind != MemoryKind::registered; }

struct MemoryRange {
  std::uint64_t base = 0, bytes = 0;
  MemoryKind kind = MemoryKind::device;
  unsigned flags = 0;  ///< those of cudaHostAlloc or cudaHostRegister
  std::uint64_t to_host = 0;  ///< as in Allocation

  /// Where this process has the byte at an address of the range.
  std::byte* host(const void* address) const {
    return host_bytes(reinterpret_cast<std::uintptr_t>(address), to_host);
  }
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
  /// New memory, by its address on the device, or nullptr when the device's capacity or the host's memory is used up.
  void* allocate(const Request& request);
  /// False unless memory of `kind` that `allocate` made starts at `base`.
  bool release(const void* base, MemoryKind kind);
  /// Releases all that `allocate` made.
  void release_all();

  /// Gives the caller's bytes addresses of the device; what of them kernels may access, `add` says.
  void* map(std::byte* bytes_here, std::uint64_t bytes);
  /// False unless `map` returned `base`.
  bool unmap(const void* base);

  /// Addresses of the device without memory, or 0; `add` puts memory of kind `mapped` there.
  std::uint64_t reserve(std::uint64_t bytes, std::uint64_t align);
  void unreserve(std::uint64_t base);
  /// Counts memory that the driver's functions made. False when that is more than the device has.
  bool charge(std::uint64_t bytes);
  void refund(std::uint64_t bytes);

  /// An address that stands for those of `replicas`, by rank, in multimem instructions; null without room.
  void* add_multicast(std::vector<std::uint64_t> replicas, std::uint64_t bytes, std::string name);
  /// False unless add_multicast returned `base`.
  bool remove_multicast(const void* base);

  /// Makes the caller's memory accessible, a segment's by the addresses that `map` gave it. False when part of it
  /// is already, or when it is no such memory.
  bool add(MemoryRange range, std::string name, int owner, bool constant = false,
           std::shared_ptr<check::Shadow> shadow = nullptr);
  /// Memory that is allocated or added from now on is watched.
  void set_checker(check::Checker* checker) { x_checker = checker; }
  /// The same range as the checks see it; without a shadow where they see nothing.
  check::Checker::Touch touch(const void* address, std::uint64_t bytes, bool writes) const;
  /// False unless a range of `kind` that was added starts at `base`.
  bool remove(const void* base, MemoryKind kind);

  std::optional<MemoryRange> find(const void* address) const;
  /// What is shared with other processes, theirs and this one's.
  std::vector<Allocation> segments() const;
  /// Whether only the device may use the address, whatever lies there.
  bool is_device_only(const void* address) const { return x_window.contains(reinterpret_cast<std::uintptr_t>(address)); }
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
  struct Mapping {
    std::byte* bytes_here = nullptr;
    std::uint64_t bytes = 0;
  };
  bool overlaps(std::uint64_t base, std::uint64_t bytes) const;
  void forget(std::uint64_t base);

  std::shared_ptr<check::Shadow> watch(check::Shadow::Kind kind, const std::string& name, std::uint64_t bytes);

  Memory& x_memory;
  check::Checker* x_checker = nullptr;
  const std::uint64_t x_capacity;
  const int x_rank;
  mutable std::mutex x_mutex;
  AddressWindow x_window;
  std::map<std::uint64_t, Mapping> x_mappings;  ///< by address on the device
  std::set<std::uint64_t> x_multicasts;
  std::map<std::uint64_t, Entry> x_entries;  ///< by base
  std::uint64_t x_used = 0, x_numbered = 0;
};

}  // namespace pkb::virtual_gpu
