// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/delayed_stores.h"
#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/exec/wait.h"
#include "harness/virtual_gpu/exec/warp.h"
#include "harness/virtual_gpu/exec/warpgroup.h"
#include "harness/virtual_gpu/exec/watch.h"

namespace pkb::virtual_gpu {

class ClusterState;

inline constexpr int kBarriers = 16;
/// Where threads wait for the barrier of the cluster, in place of a number.
inline constexpr std::uint32_t kClusterBarrier = kBarriers;

/// A shared::cluster address has the rank of the block, plus 1, from this bit on and the block's own shared
/// address below; a block's own addresses are shared::cluster addresses as they are.
inline constexpr unsigned kRankShift = 24;
inline std::uint64_t cluster_address(std::uint64_t rank, std::uint64_t address) {
  return (rank + 1) << kRankShift | (address & ((1u << kRankShift) - 1));
}

/// A block barrier between two completions.
struct Barrier {
  bool active = false;
  std::uint32_t threads = 0;         ///< expected; 0: all of the block
  std::vector<std::uint32_t> lanes;  ///< arrived, by warp
  std::uint32_t arrivals = 0;        ///< of threads, repeated ones included
  std::uint32_t again = 0;           ///< arrivals of threads that had arrived already
  std::uint32_t holds = 0;           ///< arrived threads whose predicate is true
  std::uint32_t reducing = 0;        ///< arrived threads that gave a predicate
};

/// Hands `barrier`'s result to a fragment that waited there.
void finish_barrier(const Fragment& fragment, const Barrier& barrier);

/// What the warps of a block share.
class BlockState {
 public:
  struct Position {
    std::uint32_t rank = 0;  ///< in the cluster
    Dim3 index;              ///< in the grid
    std::uint32_t sm = 0;
  };
  BlockState(ClusterState& cluster, const Launch& launch, Memory& memory, const Position& position);

  ClusterState& cluster() { return x_cluster; }
  const Launch& launch() const { return x_launch; }
  const Kernel& kernel() const { return x_kernel; }
  std::uint32_t rank() const { return x_position.rank; }
  std::uint32_t sm() const { return x_position.sm; }
  const Dim3& index() const { return x_position.index; }
  std::uint32_t thread_count() const { return x_thread_count; }
  Dim3 thread(std::uint32_t warp, int lane) const;
  std::byte* shared() { return x_shared.get(); }
  std::uint64_t shared_bytes() const { return x_shared_bytes; }
  struct SharedPlace {
    BlockState* block = nullptr;  ///< null: no such block in the cluster
    std::uint64_t offset = 0;     ///< into its shared memory, maybe beyond the end
  };
  /// What a shared::cluster address of this block's threads means.
  SharedPlace locate(std::uint64_t address);
  bool has_exited() const { return x_live_threads == 0; }
  /// griddepcontrol.launch_dependents.
  void trigger() { x_triggered = true; }
  bool has_triggered() const { return x_triggered; }
  void count_shared(std::uint64_t bytes, bool write) {
    (write ? x_counters.shared_written : x_counters.shared_read) += bytes;
  }
  /// Bytes that an asynchronous copy moved, by an owner() or AsyncCopy::kShared.
  void count_copied(std::uint32_t owner, std::uint64_t bytes, bool write);
  const Counters& total_counters();
  /// The first fault of its threads, or null.
  const Fault* fault() const { return x_fault ? &*x_fault : nullptr; }
  void raise(Fault fault);
  /// Null when accesses are not checked beyond bounds.
  check::BlockCheck* check() { return x_check.get(); }

  /// An allocation as an instruction last hit it.
  struct Range {
    std::uint64_t base = 0, bytes = 0, to_host = 0;
    std::uint32_t owner = 0;
    bool constant = false;
    check::Shadow* shadow = nullptr;
  };
  /// Host address of `bytes` of global memory that lie in one allocation, else null. `slot` is the access's
  /// number in the kernel (Kernel::memory_accesses); it remembers the allocation there.
  std::byte* global(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, bool write) {
    const Range& range = x_ranges[slot];
    const std::uint64_t offset = address - range.base;
    if (offset < range.bytes && bytes <= range.bytes - offset && !(write && range.constant)) [[likely]]
      return host_bytes(address, range.to_host);
    return look_up(slot, address, bytes, write);
  }
  /// The same for what several lanes access. Also null where each lane's bytes have to be looked up for themselves.
  std::byte* global_of_lanes(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, bool write) {
    const Range& range = x_ranges[slot];
    const std::uint64_t offset = address - range.base;
    if (offset < range.bytes && bytes <= range.bytes - offset && !(write && range.constant)) [[likely]]
      return host_bytes(address, range.to_host);
    return x_watching ? nullptr : look_up(slot, address, bytes, write);
  }
  /// Where stores to global memory go first; null when they go to memory at once.
  DelayedStores* delayed_stores() { return x_delays ? &x_delayed : nullptr; }
  /// `lanes` of a warp release within a scope: what they and those they know of have stored comes first.
  void release_stores(std::uint32_t warp, std::uint32_t lanes, check::Scope scope) {
    if (!x_delays) return;
    if (scope == check::Scope::cta)
      x_delayed.share(warp, lanes);
    else
      x_delayed.release(warp, lanes);
  }
  /// Stores are delayed from now on, or no longer.
  void delay_stores(bool delays);
  /// Bytes outside of global memory decide how it goes on.
  void looks_at(const void* at, std::uint64_t bytes) {
    if (x_watching) x_watch.add(at, bytes);
  }
  void count_global(std::uint32_t slot, std::uint64_t bytes, bool write) {
    (write ? x_written : x_read)[x_ranges[slot].owner] += bytes;
  }
  /// Whose memory the access that was looked up last for `slot` hit, for count_copied().
  std::uint32_t owner(std::uint32_t slot) const { return x_ranges[slot].owner; }
  const Range& range(std::uint32_t slot) const { return x_ranges[slot]; }
  /// The byte of global memory at `address`, which is read for a message; null where no allocation holds it.
  const std::byte* peek(std::uint64_t address) const {
    const Allocation* found = Memory::find(*x_allocations, address);
    return found == nullptr || !found->replicas.empty() ? nullptr : host_bytes(address, found->to_host);
  }
  /// The allocation that holds `address`, or null; valid until the block has run its turn.
  const Allocation* allocation(std::uint64_t address);
  /// What lies at or next to an address that no allocation holds: "12 bytes after the end of ...".
  std::string describe(std::uint64_t address, std::uint64_t bytes) const;

  /// `warp`'s executing lanes arrive at barrier `id`. `predicate` holds the lanes whose predicate is true.
  struct Arrival {
    std::uint32_t id = 0, threads = 0;
    bool waits = true;
    bool reduces = false;
    std::uint32_t predicate = 0;
  };
  void arrive(Warp& warp, const Instruction& in, const Arrival& arrival);
  /// Threads of a warp have exited: barriers may have become complete.
  void exited(const Warp& warp, std::uint32_t lanes);

  /// The four warps that `warp` belongs to. A block's last ones may be fewer.
  Warpgroup& warpgroup(const Warp& warp) { return x_warpgroups[warp.index() / Warpgroup::kWarps]; }
  CopyQueue& copies(const Warp& warp) { return x_copies[warp.index()]; }

  // For the cluster.

  std::vector<Warp>& warps() { return x_warps; }
  std::vector<CopyQueue>& copies() { return x_copies; }
  /// Sees what was allocated and freed since.
  void refresh();
  void stopped(std::uint32_t warp, Warp::Stop stop) { x_stops[warp] = stop; }
  /// Lets the warps that poll go round their loops once more to see what they look at. False when one has done more.
  bool watch_polling();
  /// Whether what watch_polling() saw has changed.
  bool may_go_on() const { return x_memory.generation() != x_generation || x_watch.changed(); }
  std::uint64_t progress_count() const;
  /// What the threads of a warp wait for, as Block::waits.
  std::vector<Wait> waits(std::uint32_t warp, std::uint64_t budget);
  /// The memory that holds an address, by name, and the offset there; no name where nothing does.
  struct Location {
    std::string memory;
    std::uint64_t offset = 0;
  };
  Location location(std::uint64_t address, bool shared) const;

 private:
  std::byte* look_up(std::uint32_t slot, std::uint64_t address, std::uint64_t bytes, bool write);
  bool complete(const Barrier& barrier) const;
  void release(std::uint32_t id);

  ClusterState& x_cluster;
  const Launch& x_launch;
  const Kernel& x_kernel;
  Memory& x_memory;
  Position x_position;
  std::uint32_t x_thread_count, x_live_threads;
  std::uint64_t x_shared_bytes;
  AlignedBytes x_shared, x_registers;
  std::unique_ptr<check::BlockCheck> x_check;
  std::vector<Warp> x_warps;
  std::vector<CopyQueue> x_copies;  ///< by warp
  std::array<Barrier, kBarriers> x_barriers;
  std::vector<Warpgroup> x_warpgroups;
  std::vector<Range> x_ranges;
  std::shared_ptr<const Memory::Snapshot> x_allocations;
  std::uint64_t x_generation = 0;
  std::optional<Fault> x_fault;
  Counters x_counters;
  std::vector<std::uint64_t> x_read, x_written;  ///< global bytes by owner; the last is for memory of no rank
  std::vector<Warp::Stop> x_stops;               ///< of each warp, when it last ran
  bool x_triggered = false;
  bool x_watching = false;  ///< x_watch learns of what is looked up, which is every access then
  bool x_delays = false;    ///< every access is looked up, in x_delayed too
  DelayedStores x_delayed;
  Watch x_watch;
};

}  // namespace pkb::virtual_gpu
