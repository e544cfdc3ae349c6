// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/checks.h"

#include <bit>

#include "harness/virtual_gpu/exec/space.h"

namespace pkb::virtual_gpu {
namespace {

/// Where a lane's access goes, as the checks see it: global memory with a shadow, or a block's shared memory.
struct Target {
  check::Shadow* shadow = nullptr;
  check::BlockCheck* owner = nullptr;  ///< of shared memory
  std::uint64_t offset = 0;
  bool checked() const { return owner != nullptr || shadow != nullptr; }
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
      return {.owner = owner->check(), .offset = offset};
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
          .bytes = bytes,
          .aliased = ordering.aliased};
}

check::Run run_of(const AsyncCopy::Piece& piece, const Target& target) {
  return {.offset = target.offset, .bytes = piece.bytes, .lane = static_cast<std::uint32_t>(piece.lane)};
}

}  // namespace

void check_row(Warp& warp, const Instruction& in, ptx::Space space, std::uint64_t first, std::uint32_t bytes, bool same,
               check::Access::Kind kind) {
  const Target target = target_of(warp, in, space, first);
  if (!target.checked()) return;
  check::BlockCheck& check = *warp.block().check();
  const check::Access access = access_of(warp, in, bytes, kind, {});
  const check::Run run = same ? check::Run{.offset = target.offset, .bytes = bytes, .shared = true}
                              : check::Run{.offset = target.offset,
                                           .bytes = std::uint64_t{bytes} * kLanes,
                                           .shift = static_cast<std::uint32_t>(std::countr_zero(bytes))};
  if (target.owner != nullptr)
    check.shared(access, *target.owner, run);
  else
    check.global(access, *target.shadow, run);
}

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
      if (its.shadow != first.shadow || its.owner != first.owner) continue;
      offsets[lane] = its.offset;
      same |= 1u << lane;
    }
    if (first.owner != nullptr)
      check.shared(access, *first.owner, same, offsets);
    else if (first.shadow != nullptr)
      check.global(access, *first.shadow, same, offsets);
    mask &= ~same;
  }
}

void StrongAccess::begin(Warp& warp, const Instruction& in, ptx::Space space, int lane, std::uint64_t address,
                         std::uint32_t bytes, check::Access::Kind kind) {
  const Target target = target_of(warp, in, space, address);
  if (!target.checked()) return;
  check::BlockCheck& check = *warp.block().check();
  x_strong = std::make_unique<check::BlockCheck::Strong>(check, access_of(warp, in, bytes, kind, Ordering::of(in)),
                                                         target.shadow, target.owner != nullptr ? *target.owner : check,
                                                         target.offset, lane);
}

std::uint32_t check_copy(Warp& warp, const AsyncCopy& copy) {
  check::BlockCheck* const check = warp.block().check();
  if (check == nullptr) return 0;
  if (copy.arrivals != 0) return check->moment() - 1;  // that of the last copy before it
  check::Access access{.warp = warp.index(), .place = copy.in->place};
  const auto touch = [&](const AsyncCopy::Piece& piece, std::uint64_t address, bool reads) {
    const Target target = target_of(warp, *copy.in, ptx::Space::generic, address);
    if (!target.checked()) return;
    access.kind = reads ? check::Access::Kind::peek : check::Access::Kind::write;
    if (!reads && copy.combine != nullptr) {  // a relaxed update of each element
      access.kind = check::Access::Kind::update;
      access.order = check::Order::relaxed;
      access.scope = check::Scope::sys;
    }
    if (target.shadow != nullptr) {
      check->global(access, *target.shadow, run_of(piece, target));
      return;
    }
    if (reads && copy.completion != AsyncCopy::Completion::group)
      check->check_proxy(access, *target.owner, piece.lane, target.offset, piece.bytes);
    check->shared(access, *target.owner, run_of(piece, target));
  };
  const CopyAgents agents = agents_of(warp, copy.completion, copy.mbarrier);
  access.agent_lane = agents.lane;
  for (const AsyncCopy::Piece& piece : copy.pieces) {
    access.agent = agents.reads;
    if (piece.from != 0) touch(piece, piece.from, true);
    access.agent = agents.writes;
    touch(piece, piece.to, false);
    access.order = check::Order::weak;
  }
  const std::uint32_t time = check->moment();
  check->issued();
  return time;
}

CopyAgents agents_of(Warp& warp, AsyncCopy::Completion completion, std::uint64_t mbarrier) {
  switch (completion) {
    case AsyncCopy::Completion::group:
      return {check::kAsyncGroup, check::kAsyncGroup, warp.index()};
    case AsyncCopy::Completion::bulk_group:
      return {check::kBulkReads, check::kBulkWrites, warp.index()};
    case AsyncCopy::Completion::mbarrier: {
      const std::uint32_t agent = warp.block().check()->agent_of_mbarrier(mbarrier);
      return {agent, agent, 0};
    }
  }
  return {};
}

}  // namespace pkb::virtual_gpu
