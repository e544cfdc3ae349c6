// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/ptx/module.h"

/// From instructions to the checks of harness/virtual_gpu/check. All of it does nothing when a launch is not
/// checked.
namespace pkb::virtual_gpu {

/// What an instruction's modifiers say about order, as Instruction::flags holds it.
struct Ordering {
  check::Order order = check::Order::weak;
  check::Scope scope = check::Scope::cta;
  bool aliased = false;  ///< by a multicast address
  bool is_strong() const { return order != check::Order::weak; }
  std::uint8_t flags() const {
    return static_cast<std::uint8_t>(static_cast<unsigned>(order) | static_cast<unsigned>(scope) << 3 | (aliased ? 1u << 6 : 0));
  }
  static Ordering of(const Instruction& in) {
    return {static_cast<check::Order>(in.flags & 7), static_cast<check::Scope>(in.flags >> 3 & 3), (in.flags >> 6 & 1) != 0};
  }
};

/// Lanes of `mask` access `bytes` bytes each, at addresses of `space` that are known to be valid.
void check_lanes(Warp& warp, const Instruction& in, ptx::Space space, std::uint32_t mask,
                 const std::uint64_t* addresses, std::uint32_t bytes, check::Access::Kind kind, Ordering ordering);
/// All lanes access `bytes` bytes each, a power of two, at addresses that follow each other from `first` on, or read the
/// same.
void check_row(Warp& warp, const Instruction& in, ptx::Space space, std::uint64_t first, std::uint32_t bytes, bool same,
               check::Access::Kind kind);
inline void check_lane(Warp& warp, const Instruction& in, ptx::Space space, int lane, std::uint64_t address,
                       std::uint32_t bytes, check::Access::Kind kind, Ordering ordering = {}) {
  if (warp.block().check() == nullptr) return;
  std::uint64_t addresses[kLanes];
  addresses[lane] = address;
  check_lanes(warp, in, space, 1u << lane, addresses, bytes, kind, ordering);
}

/// What comes before a release does so.
inline void release_before(Warp& warp, const Instruction& in) {
  const Ordering ordering = Ordering::of(in);
  if (check::releases(ordering.order)) warp.block().release_stores(warp.index(), warp.mask(), ordering.scope);
}

/// Brackets what one lane's access does to memory, if the access is strong.
class StrongAccess {
 public:
  StrongAccess(Warp& warp, const Instruction& in, ptx::Space space, int lane, std::uint64_t address,
               std::uint64_t bytes, check::Access::Kind kind) {
    if (Ordering::of(in).is_strong() && warp.block().check() != nullptr)
      begin(warp, in, space, lane, address, static_cast<std::uint32_t>(bytes), kind);
  }
  void only_read() {
    if (x_strong) x_strong->only_read();
  }
  /// What is written becomes visible later, with this.
  check::Announcement announce_later() { return x_strong ? x_strong->announce_later() : check::Announcement(); }

 private:
  void begin(Warp& warp, const Instruction& in, ptx::Space space, int lane, std::uint64_t address,
             std::uint32_t bytes, check::Access::Kind kind);
  std::unique_ptr<check::BlockCheck::Strong> x_strong;
};

/// As whose accesses the checks know those of a copy.
struct CopyAgents {
  std::uint32_t reads = 0, writes = 0, lane = 0;
};
CopyAgents agents_of(Warp& warp, AsyncCopy::Completion completion, std::uint64_t mbarrier = 0);
/// A copy is being issued. Its moment, by which its end is told.
std::uint32_t check_copy(Warp& warp, const AsyncCopy& copy);

}  // namespace pkb::virtual_gpu
