// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/check/report.h"

// Asynchronous copies and the mbarriers that tell of their end.
namespace pkb::virtual_gpu::check {

void BlockCheck::waited(std::uint32_t warp, std::uint32_t lanes, std::uint32_t agent, std::uint32_t agent_lane,
                        std::uint32_t time) {
  change_views(warp, lanes, [&](View& view, std::uint32_t) { raise(view.threads, agent << 5 | agent_lane, time); });
}

void BlockCheck::proxy_fence(std::uint32_t warp, std::uint32_t lanes) {
  join_views(x_proxied, warp, lanes);
  note_own(x_proxied, warp, lanes);
  tick();
}

void BlockCheck::alias_fence(std::uint32_t warp, std::uint32_t lanes) {
  std::erase_if(x_aliased, [&](const auto& each) {
    const Thread thread = each.second.thread;
    return agent_of(thread) == warp && (lanes >> lane_of(thread) & 1) != 0;
  });
}

void BlockCheck::check_proxy(const Access& access, BlockCheck& owner, int lane, std::uint64_t offset,
                             std::uint64_t bytes) {
  if (&owner != this) return;
  const Thread me = thread_of(x_block, access.warp, static_cast<std::uint32_t>(lane));
  const Stamp mine = Stamp::of(me, x_now);
  const View& known = *view(access.warp, lane);
  for (std::uint64_t at = offset / kGranule; at * kGranule < offset + bytes && at < x_shared.granules(); ++at) {
    const SharedShadow::Write& last = x_shared.write(at);
    const Thread writer = last.stamp.thread();
    if (last.stamp.none() || block_of(writer) != x_block) continue;
    const bool is_fenced = agent_of(writer) >= kWarps || last.stamp.time() <= x_proxied.known[agent_of(writer)] ||
                           last.stamp.time() <= time_of(x_proxied.threads, writer & 0x7ff);
    if (is_fenced && ordered(known, me, last.stamp)) continue;
    const PlaceId place = x_grid->place(access.place);
    if (is_fenced)
      return conflict("shared memory", at * kGranule, true, mine, place, last.stamp, last.place, known);
    checker().report(Fault::Kind::race, place, last.place, [&] {
      Fault fault = fault_at(x_ledger, Fault::Kind::race, place, mine);
      fault.text = fmt::format(
          "race between proxies at byte {} of shared memory: a generic write is read by the async proxy without "
          "fence.proxy.async between: {} and {}",
          at * kGranule, describe(x_ledger, last.stamp, last.place), describe(x_ledger, mine, place));
      return fault;
    });
    return;
  }
}

std::uint32_t BlockCheck::agent_of_mbarrier(std::uint64_t offset) {
  // The last agents belong to copies that complete otherwise; more mbarriers than agents share the last one.
  constexpr std::uint32_t kLast = kFirstGroupAgent - 1;
  std::uint32_t& agent = x_mbarriers[offset].agent;
  if (agent == 0) agent = std::min(x_agents++, kLast);
  return agent;
}

void BlockCheck::mbarrier_arrive(std::uint64_t offset, BlockCheck& from, std::uint32_t warp, int lane) {
  View& pending = x_mbarriers[offset].pending;
  if (&from == this) {
    pending.join(*view(warp, lane));
    note_own(pending, warp, 1u << lane);
    tick();
  } else {
    pending.join(from.publish(warp, 1u << lane), x_block);
  }
}

void BlockCheck::mbarrier_copied(std::uint64_t offset, BlockCheck& from, std::uint32_t agent,
                                 std::uint32_t agent_lane, std::uint32_t time) {
  View copied;
  raise(copied.threads, agent << 5 | agent_lane, time);
  View& pending = x_mbarriers[offset].pending;
  if (&from == this)
    pending.join(copied);
  else
    pending.join(from.clock_of(copied), x_block);
}

void BlockCheck::mbarrier_completed(std::uint64_t offset) {
  Mbarrier& its = x_mbarriers[offset];
  its.completed = std::make_shared<View>(its.pending);
  its.pending = {};
}

void BlockCheck::mbarrier_passed(std::uint64_t offset, BlockCheck& by, std::uint32_t warp, int lane) {
  const ViewPtr completed = x_mbarriers[offset].completed;
  if (!completed) return;
  if (&by == this)
    change_views(warp, 1u << lane, [&](View& view, std::uint32_t) { view.join(*completed); });
  else
    by.join(warp, 1u << lane, clock_of(*completed));
}

}  // namespace pkb::virtual_gpu::check
