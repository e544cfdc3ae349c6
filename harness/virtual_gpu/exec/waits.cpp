// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/cluster.h"
#include "harness/virtual_gpu/exec/explain.h"

// What threads wait for, for the reports of deadlocks and diverged barriers.
namespace pkb::virtual_gpu {
namespace {

void add(std::vector<Wait>& to, const std::vector<Wait>& more) {
  for (const Wait& wait : more) {
    const auto same = std::ranges::find_if(to, [&](const Wait& known) { return known.key() == wait.key(); });
    if (same == to.end())
      to.push_back(wait);
    else
      same->merge(wait);
  }
}

std::string lines(const std::vector<Wait>& waits) {
  std::vector<std::string> all;
  for (const Wait& wait : waits) all.push_back(to_string(wait));
  return fmt::format("{}", fmt::join(all, "; "));
}

const Instruction& place_of(const Fragment& fragment) {
  const bool behind = fragment.state == Fragment::State::barrier || fragment.state == Fragment::State::warpgroup;
  return behind ? fragment.next[-1] : *fragment.next;
}

/// `who` is stuck for good, as `waits` say: `warp` is to blame.
void blame(Warp& warp, std::string_view who, const std::vector<Wait>& waits) {
  const std::vector<Fragment> fragments = warp.fragments();
  const auto waiting = std::ranges::find_if(fragments, [](const Fragment& each) { return each.state != Fragment::State::ready; });
  const Fragment& fragment = waiting == fragments.end() ? fragments.front() : *waiting;
  warp.fault(place_of(fragment), std::countr_zero(fragment.lanes), Fault::Kind::barrier_divergence, 0,
             fmt::format("{}: {}", who, lines(waits)));
}

}  // namespace

std::vector<Wait> BlockState::waits(std::uint32_t index, std::uint64_t budget) {
  Warp& warp = x_warps[index];
  std::vector<Wait> found;
  const bool polls = x_stops[index] == Warp::Stop::polling;
  if (polls && budget != 0) found = explain_polling(warp, budget);
  const bool explained = !found.empty();
  for (const Fragment& fragment : warp.fragments()) {
    const Kernel::Place& place = x_kernel.places[place_of(fragment).place];
    Wait wait;
    wait.threads = static_cast<std::uint32_t>(std::popcount(fragment.lanes));
    switch (fragment.state) {
      case Fragment::State::ready:
        if (explained) continue;
        wait.action = polls ? "poll" : "run";
        break;
      case Fragment::State::barrier:
        wait.action = fragment.wanted == kClusterBarrier ? "wait at the barrier of the cluster"
                                                         : fmt::format("wait at barrier {}", fragment.wanted);
        break;
      case Fragment::State::rendezvous:
        wait.action =
            fmt::format("wait in {} for the other threads of {}", place.opcode,
                        fragment.wanted == kAllLanes ? "their warp" : fmt::format("mask {:#x}", fragment.wanted));
        break;
      case Fragment::State::warpgroup:
        wait.action = fmt::format("wait in {} for the other warps of the warpgroup", place.opcode);
        break;
    }
    if (place.file < x_kernel.files.size() && place.line != 0)
      wait.at = fmt::format("{}:{}", x_kernel.files[place.file], place.line);
    add(found, {wait});
  }
  return found;
}

BlockState::Location BlockState::location(std::uint64_t address, bool shared) const {
  if (address >= kSharedWindow && address - kSharedWindow < kSharedWindow) {
    shared = true;
    address -= kSharedWindow;
  }
  if (shared) return {"shared memory", address};
  const Allocation* found = Memory::find(*x_allocations, address);
  return found == nullptr ? Location{} : Location{found->name, address - found->base};
}

std::vector<Wait> ClusterState::waits(std::uint64_t budget) {
  std::vector<Wait> all;
  for (const auto& block : x_blocks) {
    const std::uint64_t share = budget / x_blocks.size() / block->warps().size();
    const Dim3& at = block->index();
    for (std::uint32_t i = 0; i < block->warps().size(); ++i) {
      std::vector<Wait> found = block->waits(i, share);
      if (x_blocks.size() > 1)
        for (Wait& wait : found) wait.who = fmt::format("block ({},{},{}) of the cluster", at.x, at.y, at.z);
      add(all, found);
    }
  }
  return all;
}

void ClusterState::stuck(BlockState& block, std::uint32_t warp) {
  const std::vector<Fragment> fragments = block.warps()[warp].fragments();
  const bool all_wait = std::ranges::none_of(fragments, [](const Fragment& each) { return each.state == Fragment::State::ready; });
  blame(block.warps()[warp],
        all_wait ? "the threads of a warp have diverged and wait for each other"
                 : "the threads of a warp have diverged and some end past where the others wait for them",
        block.waits(warp, 0));
}

void ClusterState::stuck() {
  for (const auto& block : x_blocks)
    for (Warp& warp : block->warps())
      if (warp.live() != 0)
        return blame(warp, x_blocks.size() == 1 ? "no thread of the block can go on" : "no thread of the cluster can go on",
                     waits(0));
}

}  // namespace pkb::virtual_gpu
