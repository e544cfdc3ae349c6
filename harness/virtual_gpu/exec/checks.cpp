// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/checks.h"

#include <bit>

#include "harness/virtual_gpu/exec/space.h"

namespace pkb::virtual_gpu {
namespace {

/// Where a lane's access goes, as the checks see it: global memory with a shadow, or this block's shared memory.
struct Target {
  check::Shadow* shadow = nullptr;
  bool shared = false;
  std::uint64_t offset = 0;
  bool checked() const { return shared || shadow != nullptr; }
};

Target target_of(Warp& warp, const Instruction& in, ptx::Space space, std::uint64_t address) {
  BlockState& block = warp.block();
  switch (where_is(space, address)) {
    case Where::global: {
      const auto slot = static_cast<std::uint32_t>(in.target);
      block.global(slot, address, 1, false);  // makes the range the address's
      const BlockState::Range& range = block.range(slot);
      return {.shadow = range.shadow, .offset = address - range.base};
    }
    case Where::shared: {
      const auto [owner, offset] = block.locate(address);
      return {.shared = owner == &block, .offset = offset};
    }
    case Where::local:
    case Where::parameter:
      return {};
  }
  return {};
}

check::Access access_of(const Warp& warp, const Instruction& in, std::uint32_t bytes, check::Access::Kind kind,
                        Ordering ordering) {
  return {.kind = kind,
          .order = ordering.order,
          .scope = ordering.scope,
          .warp = warp.index(),
          .place = in.place,
          .bytes = bytes};
}

}  // namespace

void check_lanes(Warp& warp, const Instruction& in, ptx::Space space, std::uint32_t mask,
                 const std::uint64_t* addresses, std::uint32_t bytes, check::Access::Kind kind,
                 Ordering ordering) {
  check::BlockCheck& check = *warp.block().check();
  const check::Access access = access_of(warp, in, bytes, kind, ordering);
  std::uint64_t offsets[kLanes];
  while (mask != 0) {
    // Nearly always all lanes have the same target.
    const Target first = target_of(warp, in, space, addresses[std::countr_zero(mask)]);
    std::uint32_t same = 0;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const Target its = target_of(warp, in, space, addresses[lane]);
      if (its.shadow != first.shadow || its.shared != first.shared) continue;
      offsets[lane] = its.offset;
      same |= 1u << lane;
    }
    if (first.shared)
      check.shared(access, same, offsets);
    else if (first.shadow != nullptr)
      check.global(access, *first.shadow, same, offsets);
    mask &= ~same;
  }
}

void StrongAccess::begin(Warp& warp, const Instruction& in, ptx::Space space, int lane, std::uint64_t address,
                         std::uint32_t bytes, check::Access::Kind kind) {
  const Target target = target_of(warp, in, space, address);
  if (!target.checked()) return;
  x_strong = std::make_unique<check::BlockCheck::Strong>(
      *warp.block().check(), access_of(warp, in, bytes, kind, Ordering::of(in)), target.shadow, target.offset, lane);
}

}  // namespace pkb::virtual_gpu
