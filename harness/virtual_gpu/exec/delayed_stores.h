// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/check/block_check.h"

namespace pkb::virtual_gpu {

class ClusterState;

/// Stores of a block to global memory that nobody has seen yet. What no fence or release stands behind may become visible
/// late and in any order, each element of a vector for itself (PTX ISA, "Memory Consistency Model"). A seed of the schedule
/// draws which stores and how late; without one nothing is ever here.
///
/// Looking at such memory from within the block makes it visible to everybody: no thread reads its own old value, nor
/// overtakes its own store to the same place.
class DelayedStores {
 public:
  explicit DelayedStores(ClusterState& cluster) : x_cluster(&cluster) {}

  /// Whose store it is.
  struct Writer {
    std::uint32_t warp = 0;
    int lane = 0;
  };
  /// Whether the next store is to be delayed.
  bool takes();
  /// A store of at most 8 bytes, and what its readers learn by it. Where it goes has been settled.
  void add(Writer writer, std::byte* to, std::uint64_t value, std::uint32_t bytes, check::Announcement announcement);
  /// Somebody is about to access memory.
  void settle(const std::byte* at, std::uint64_t bytes);
  /// Others of the block may know from now on what `lanes` of a warp have stored, and tell of it by their releases.
  void share(std::uint32_t warp, std::uint32_t lanes);
  /// What `lanes` have stored and what the block shares comes before what they do next, to whoever learns of that.
  void release(std::uint32_t warp, std::uint32_t lanes);

  bool empty() const { return x_stores.empty(); }
  void perform_due(std::uint64_t now);
  void perform_all() { perform_due(~std::uint64_t{0}); }
  /// When the next one is due; the end of time without one.
  std::uint64_t next_due() const;

 private:
  struct Store {
    std::byte* to = nullptr;
    std::uint64_t value = 0;
    std::uint32_t bytes = 0;
    Writer writer;
    check::Announcement announcement;
    bool shared = false;
    std::uint64_t due = 0;
  };
  static constexpr std::size_t kMost = 64;

  template <class Condition>
  void perform_where(Condition condition);

  ClusterState* x_cluster;
  std::vector<Store> x_stores;  ///< no two to the same bytes
};

}  // namespace pkb::virtual_gpu
