// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/virtual_gpu/exec/atomic.h"
#include "harness/virtual_gpu/exec/instruction.h"
#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// Bytes that move some time after the instruction that asked for it. Addresses are checked when it is issued, so
/// that a fault names the instruction; from then on it holds where the bytes are.
struct AsyncCopy {
  /// What tells the program that it is done.
  enum class Completion : std::uint8_t {
    group,       ///< cp.async: a group of the issuing threads
    bulk_group,  ///< the same of the bulk copies
    mbarrier,
  };
  struct Piece {
    std::uint64_t from = 0;  ///< generic address; 0 where the bytes stand in no memory of the device
    std::uint64_t to = 0;    ///< generic address; another block's shared memory as a shared::cluster address
    const std::byte* source = nullptr;  ///< null: zeros
    std::byte* target = nullptr;
    std::uint32_t bytes = 0;
    int lane = 0;  ///< whose copy it is
  };
  static constexpr std::uint32_t kShared = ~0u;  ///< in place of an owner: shared memory

  const Instruction* in = nullptr;
  std::uint32_t lanes = 0;  ///< that issued it
  Completion completion = Completion::group;
  std::vector<Piece> pieces;
  void (*convert)(std::byte* values, std::size_t bytes) = nullptr;  ///< done to what comes from memory
  Combine combine = nullptr;  ///< what a reduction does; null: the bytes are replaced
  std::uint32_t source_owner = kShared, target_owner = kShared;  ///< BlockState::owner
  std::uint64_t mbarrier = 0;      ///< shared::cluster address, for Completion::mbarrier
  std::uint32_t transactions = 0;  ///< bytes that count there
  std::uint32_t arrivals = 0;      ///< no copy but cp.async.mbarrier.arrive: arrives when all earlier ones are done

  // Kept by the queue.
  std::uint64_t group = 0;  ///< of the issuing threads
  std::uint32_t moment = 0;  ///< BlockCheck::moment
  std::uint64_t due = 0;    ///< ClusterState::now() from which on it is performed
  bool is_read = false;     ///< `values` holds the bytes
  std::vector<std::byte> values;
};

/// The asynchronous copies of a warp's threads. They are performed between the turns of warps, at a time that the
/// schedule draws, at the latest when a thread waits for them or the block ends.
class CopyQueue {
 public:
  explicit CopyQueue(Warp& warp) : x_warp(&warp) {}

  /// An empty copy to be filled and issued.
  std::unique_ptr<AsyncCopy> fresh();
  void issue(std::unique_ptr<AsyncCopy> copy);
  /// Closes the present group of the threads `lanes`.
  void commit(AsyncCopy::Completion completion, std::uint32_t lanes);
  struct Wait {
    AsyncCopy::Completion completion = AsyncCopy::Completion::group;
    std::uint32_t lanes = 0;
    std::uint64_t may_remain = 0;  ///< groups of each thread, the latest ones
    bool only_read = false;        ///< until the sources may be overwritten
  };
  void wait(const Wait& wait);
  /// Whether a copy of the threads `lanes` that completes so is under way.
  bool pending(AsyncCopy::Completion completion, std::uint32_t lanes) const;

  // For the cluster.

  bool empty() const { return x_copies.empty(); }
  void perform_due(std::uint64_t now);
  void perform_all() { perform_due(~std::uint64_t{0}); }
  /// When the next copy is due; the end of time without one.
  std::uint64_t next_due() const;

 private:
  using CopyPtr = std::unique_ptr<AsyncCopy>;

  static constexpr std::size_t kKinds = 2;  ///< of groups
  using Counts = std::array<std::uint64_t, kLanes>;
  Counts& committed(AsyncCopy::Completion completion) {
    return x_committed[static_cast<std::size_t>(completion)];
  }

  void perform(AsyncCopy& copy);
  void read(AsyncCopy& copy);
  void write(AsyncCopy& copy);
  void complete(AsyncCopy& copy);
  template <class Condition>
  void perform_where(Condition condition);

  Warp* x_warp;
  std::vector<CopyPtr> x_copies;  ///< in the order of issue
  std::vector<CopyPtr> x_spare;
  std::array<Counts, kKinds> x_committed{};
  /// For the checks: copies that complete in groups and that not all their threads have waited for.
  struct Issued {
    AsyncCopy::Completion completion = AsyncCopy::Completion::group;
    std::uint32_t lanes = 0;
    std::uint64_t group = 0;
    std::uint32_t moment = 0;
  };
  std::vector<Issued> x_issued;
  void tell_waited(const Wait& wait);
  /// Those of a copy's `lanes` for whom a wait includes its group.
  std::uint32_t included(const Wait& wait, AsyncCopy::Completion completion, std::uint32_t lanes, std::uint64_t group);
};

}  // namespace pkb::virtual_gpu
