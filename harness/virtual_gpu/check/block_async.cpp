// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/check/report.h"

// Asynchronous copies and the mbarriers that tell of their end.
namespace pkb::virtual_gpu::check {

void BlockCheck::waited(std::uint32_t warp, std::uint32_t lanes, std::uint32_t agent,
                        std::uint32_t agent_lane, std::uint32_t time) {
  change_views(warp, lanes,
               [&](View& view, std::uint32_t) { raise(view.threads, agent << 5 | agent_lane, time); });
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
  const Entry mine{Stamp::of(me, x_now), x_grid->place(access.place), ~Bytes{0}};
  const Run run{.offset = offset, .bytes = bytes, .lane = static_cast<std::uint32_t>(lane)};
  const Touch touch{access, *view(access.warp, lane), kSharedMemory, true, run, 0, mine, mine};
  const auto check = [&](const Entry& last, std::uint64_t at, Bytes both) {
    if (block_of(last.stamp.thread()) != x_block) return true;
    const std::uint32_t agent = agent_of(last.stamp.thread());
    const bool all_fenced = agent >= kWarps || last.stamp.time() <= x_proxied.known[agent];
    if (all_fenced && knows_warp(touch.view, last.stamp)) return true;
    const Bytes found = unordered(touch, last, both);
    for (Bytes left = both; left != 0; left &= left - 1) {
      const int byte = std::countr_zero(left);
      const std::uint64_t place = at + static_cast<std::uint64_t>(byte);
      const bool fenced =
          all_fenced || last.stamp.time() <= time_of(x_proxied.threads, last.thread(byte) & 0x7ff);
      if (fenced && (found >> byte & 1) == 0) continue;
      if (fenced)
        conflict(kSharedMemory, place, true, mine.stamp, mine.place, last.at(byte), last.place, touch.view);
      else
        checker().report(Fault::Kind::race, mine.place, last.place, [&] {
          Fault fault = fault_at(x_ledger, Fault::Kind::race, mine.place, mine.stamp);
          fault.text = fmt::format(
              "race between proxies at byte {} of shared memory: a generic write is read by the async proxy "
              "without "
              "fence.proxy.async between: {} and {}",
              place, describe(x_ledger, last.at(byte), last.place),
              describe(x_ledger, mine.stamp, mine.place));
          return fault;
        });
      return false;
    }
    return true;
  };
  bool goes_on = true;
  for (std::uint64_t at = offset, end = std::min(offset + bytes, x_shared.sectors() * kSector);
       at < end && goes_on;) {
    const std::uint64_t from = at % kSector, count = std::min(kSector - from, end - at);
    const Bytes here = (~Bytes{0} >> (kSector - count)) << from;
    const Entries last(x_shared.lists(), x_shared.last(at / kSector).write);
    for (std::size_t i = 0; i < last.size() && goes_on; ++i)
      if (const Entry entry = last.get(i); (entry.bytes & here) != 0)
        goes_on = check(entry, at - from, entry.bytes & here);
    at += count;
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
