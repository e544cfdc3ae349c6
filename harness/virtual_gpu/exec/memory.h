// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pkb::virtual_gpu {

namespace check {
class Shadow;
}

/// A contiguous piece of global memory: device addresses, and the bytes behind them in this process.
struct Allocation {
  std::uint64_t base = 0, bytes = 0;
  std::string name;  ///< "input A_local of rank 2", "cudaMalloc #3", "symmetric #0"
  int owner = -1;    ///< the rank whose memory it is
  bool constant = false;
  std::uint64_t to_host = 0;  ///< host address minus device address; 0 where both may use the same
  std::shared_ptr<check::Shadow> shadow = nullptr;  ///< what is known about the accesses; null: nothing
  /// Of a multicast address: the device addresses, by rank, that it stands for. Only multimem instructions access it.
  std::vector<std::uint64_t> replicas = {};
};

/// Where this process has the byte at a device address.
inline std::byte* host_bytes(std::uint64_t address, std::uint64_t to_host) {
  return reinterpret_cast<std::byte*>(address + to_host);
}

/// The allocations of one virtual device. Writers are host calls, readers are running warps: a reader holds a
/// snapshot and learns by `generation` when it is out of date.
class Memory {
 public:
  using Snapshot = std::vector<Allocation>;  ///< sorted by base, disjoint

  void add(Allocation allocation);
  /// False when no allocation starts at `base`.
  bool remove(std::uint64_t base);
  /// The name of the last allocation that held `address` and was removed; empty when none did.
  std::string freed(std::uint64_t address) const;
  std::uint64_t generation() const { return x_generation.load(std::memory_order_acquire); }
  std::shared_ptr<const Snapshot> snapshot() const;
  /// The allocation of `snapshot` that holds `address`, or null.
  static const Allocation* find(const Snapshot& snapshot, std::uint64_t address);

 private:
  mutable std::mutex x_mutex;
  std::shared_ptr<const Snapshot> x_snapshot = std::make_shared<Snapshot>();
  std::deque<Allocation> x_freed;  ///< the latest, newest last, for messages
  std::atomic<std::uint64_t> x_generation{0};
};

}  // namespace pkb::virtual_gpu
