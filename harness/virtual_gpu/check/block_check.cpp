// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/block_check.h"

#include <algorithm>
#include <utility>

namespace pkb::virtual_gpu::check {
namespace {

constexpr std::size_t kBarriers = 16;

}  // namespace

BlockCheck::BlockCheck(std::shared_ptr<Grid> grid, std::uint64_t linear_index, std::uint32_t threads,
                       std::uint64_t shared_bytes)
    : x_grid(std::move(grid)),
      x_ledger(x_grid->checker().ledger()),
      x_block(x_grid->first() + static_cast<std::uint32_t>(linear_index)),
      x_warps((threads + 31) / 32),
      x_barriers(kBarriers),
      x_shared(shared_bytes) {
  auto first = std::make_shared<View>();
  first->outside = x_grid->start();
  for (std::size_t i = 0; i < x_warps.size(); ++i) {
    const std::uint32_t present = std::min<std::uint32_t>(threads - static_cast<std::uint32_t>(i) * 32, 32);
    x_warps[i].common = first;
    x_warps[i].live = ~0u >> (32 - present);
  }
}

void BlockCheck::tick() {
  if (++x_now >= kLastTime) x_ledger.stop("more synchronisation in one block than race checking can count");
}

bool BlockCheck::is_whole(std::uint32_t warp, std::uint32_t lanes) const {
  return (x_warps[warp].live & ~lanes) == 0;
}

void BlockCheck::join_views(View& into, std::uint32_t warp, std::uint32_t lanes) const {
  if (!x_warps[warp].lanes) return lanes != 0 ? into.join(*x_warps[warp].common) : void();
  const View* last = nullptr;  // neighbours mostly share one
  for (; lanes != 0; lanes &= lanes - 1) {
    const View* const each = view(warp, std::countr_zero(lanes)).get();
    if (each != last) into.join(*each);
    last = each;
  }
}

void BlockCheck::set_view(std::uint32_t warp, std::uint32_t lanes, ViewPtr view) {
  Warp& its = x_warps[warp];
  x_known_by = nullptr;
  if (is_whole(warp, lanes)) {
    its.common = std::move(view);
    its.lanes.reset();
    return;
  }
  if (!its.lanes) {
    its.lanes = std::make_unique<std::array<ViewPtr, 32>>();
    its.lanes->fill(its.common);
  }
  for (; lanes != 0; lanes &= lanes - 1) (*its.lanes)[static_cast<std::size_t>(std::countr_zero(lanes))] = view;
}

/// What `lanes` have done so far, as others learn of it.
void BlockCheck::note_own(View& view, std::uint32_t warp, std::uint32_t lanes) const {
  if (is_whole(warp, lanes)) {
    view.known[warp] = x_now;
    return;
  }
  for (; lanes != 0; lanes &= lanes - 1)
    raise(view.threads, warp << 5 | static_cast<std::uint32_t>(std::countr_zero(lanes)), x_now);
}

ClockPtr BlockCheck::clock_of(const View& view, std::uint32_t warp, std::uint32_t lanes) const {
  View mine = view;
  note_own(mine, warp, lanes);
  return clock_of(mine);
}

/// What a lane knows beside its own accesses since it last synchronised. Many lanes ask for the same.
ClockPtr BlockCheck::clock_of_view(std::uint32_t warp, int lane) {
  const ViewPtr& mine = view(warp, lane);
  if (x_clock_view != mine) {
    x_clock_view = mine;
    x_clock = clock_of(*mine);
  }
  return x_clock;
}

ClockPtr BlockCheck::clock_of(const View& mine) const {
  auto clock = std::make_shared<Clock>(*mine.outside);
  const auto warps = static_cast<std::ptrdiff_t>(x_warps.size());
  const std::uint32_t all = *std::min_element(mine.known.begin(), mine.known.begin() + warps);
  if (all != 0) raise(clock->blocks, x_block, all);
  for (std::uint32_t agent = 0; agent < kAgents; ++agent)
    if (mine.known[agent] > (agent < kWarps ? all : 0))
      raise(clock->warps, x_block * kAgents + agent, mine.known[agent]);
  for (const Known& each : mine.threads)
    if (each.time > mine.known[each.key >> 5]) raise(clock->threads, x_block << 11 | each.key, each.time);
  return clock;
}

void BlockCheck::fence(std::uint32_t warp, std::uint32_t lanes, Scope scope, std::uint32_t place) {
  const PlaceId id = x_grid->place(place);
  change_views(warp, lanes, [&](View& view, std::uint32_t same) {
    for (const RecordPtr& each : std::exchange(view.observed, {})) take(view, *each, scope, Missed::Why::fence_scope, id);
    view.fenced[static_cast<std::size_t>(scope)] = clock_of(view, warp, same);
  });
  tick();
}

void BlockCheck::warp_sync(std::uint32_t warp, std::uint32_t lanes) {
  auto all = std::make_shared<View>(*view(warp, std::countr_zero(lanes)));
  join_views(*all, warp, lanes & (lanes - 1));
  note_own(*all, warp, lanes);
  set_view(warp, lanes, std::move(all));
  tick();
}

void BlockCheck::arrive(std::uint32_t barrier, std::uint32_t warp, std::uint32_t lanes) {
  Barrier& its = x_barriers[barrier];
  if (!its.joined) its.joined.emplace(x_exited);
  join_views(*its.joined, warp, lanes);
  note_own(*its.joined, warp, lanes);
  tick();
}

void BlockCheck::leave(std::uint32_t barrier, std::uint32_t warp, std::uint32_t lanes) {
  Barrier& its = x_barriers[barrier];
  if (!its.shared) {
    its.joined->join(x_exited);
    std::erase_if(its.joined->threads,
                  [&](const Known& each) { return each.time <= its.joined->known[each.key >> 5]; });
    its.shared = std::make_shared<View>(*its.joined);
    its.completed = x_now;
  }
  its.left += static_cast<std::uint32_t>(std::popcount(lanes));
  set_view(warp, lanes, its.shared);
}

void BlockCheck::reset(std::uint32_t barrier) {
  std::uint32_t live = 0;
  for (const Warp& warp : x_warps) live += static_cast<std::uint32_t>(std::popcount(warp.live));
  if (x_barriers[barrier].left >= live) x_known_to_all = x_barriers[barrier].completed;
  x_barriers[barrier] = {};
}

void BlockCheck::exit(std::uint32_t warp, std::uint32_t lanes) {
  join_views(x_exited, warp, lanes);
  note_own(x_exited, warp, lanes);
  x_warps[warp].live &= ~lanes;
  tick();
}

void BlockCheck::join(std::uint32_t warp, std::uint32_t lanes, const ClockPtr& clock) {
  change_views(warp, lanes, [&](View& view, std::uint32_t) { view.join(clock, x_block); });
}

ClockPtr BlockCheck::publish(std::uint32_t warp, std::uint32_t lanes) {
  View all;
  join_views(all, warp, lanes);
  const ClockPtr clock = clock_of(all, warp, lanes);
  tick();
  return clock;
}

void BlockCheck::finish() { x_grid->end(x_exited.outside); }

void BlockCheck::miss(const Missed& missed) {
  constexpr std::size_t kMost = 32;
  if (std::find(x_missed.begin(), x_missed.end(), missed) != x_missed.end()) return;
  if (x_missed.size() == kMost) x_missed.erase(x_missed.begin());
  x_missed.push_back(missed);
}

void BlockCheck::take(View& view, const Record& record, Scope scope, Missed::Why narrow, PlaceId place) {
  const std::uint32_t writer = block_of(record.writer);
  if (!x_ledger.includes(scope, x_block, writer))
    return miss({.why = narrow, .block = writer, .scope = scope, .write = record.place, .read = place});
  if (!x_ledger.includes(record.scope, writer, x_block))
    return miss({Missed::Why::release_scope, writer, record.scope, record.place, place});
  if (record.releases.empty())
    miss({.why = Missed::Why::no_release, .block = writer, .scope = record.scope, .write = record.place, .read = place});
  for (const Record::Release& each : record.releases) {
    if (x_ledger.includes(each.scope, block_of(each.releaser), x_block))
      view.join(each.clock, each.releaser, each.time, x_block);
    else
      miss({Missed::Why::release_scope, block_of(each.releaser), each.scope, record.place, place});
  }
}

void BlockCheck::acquire(const Access& access, const RecordPtr& record, int lane, PlaceId place) {
  const View& mine = *view(access.warp, lane);
  if (acquires(access.order)) {
    RecordPtr& last = x_warps[access.warp].acquired[static_cast<std::size_t>(lane)];
    if (last == record) return;
    last = record;
    View next = mine;
    take(next, *record, access.scope, Missed::Why::acquire_scope, place);
    set_view(access.warp, 1u << lane, std::make_shared<View>(std::move(next)));
  } else if (!mine.observes(record) && x_ledger.includes(access.scope, x_block, block_of(record->writer))) {
    constexpr std::size_t kMostObserved = 64;
    auto next = std::make_shared<View>(mine);
    if (next->observed.size() == kMostObserved) next->observed.erase(next->observed.begin());
    next->observed.push_back(record);
    set_view(access.warp, 1u << lane, std::move(next));
  }
}

std::optional<Record> BlockCheck::release(const Access& access, const RecordPtr& before, int lane, PlaceId place) {
  const View& mine = *view(access.warp, lane);
  const bool tells = releases(access.order) ||
                     std::any_of(mine.fenced.begin(), mine.fenced.end(), [](const ClockPtr& each) { return each != nullptr; });
  // An update that says nothing leaves what is said: it is part of the same chain.
  if (access.kind == Access::Kind::update && !tells) return std::nullopt;
  Record record;
  const Thread me = thread_of(x_block, access.warp, static_cast<std::uint32_t>(lane));
  if (before && access.kind == Access::Kind::update && x_ledger.includes(before->scope, block_of(before->writer), x_block) &&
      x_ledger.includes(access.scope, x_block, block_of(before->writer)))
    record.releases = before->releases;
  record.writer = me;
  record.scope = access.scope;
  record.place = place;
  if (releases(access.order)) record.add({access.scope, me, x_now, clock_of_view(access.warp, lane)});
  for (std::size_t scope = 0; scope < kScopes; ++scope)
    if (mine.fenced[scope]) record.add({static_cast<Scope>(scope), me, 0, mine.fenced[scope]});
  return record;
}

BlockCheck::Strong::Strong(BlockCheck& check, const Access& access, Shadow* shadow, BlockCheck& owner,
                           std::uint64_t offset, int lane)
    : x_check(check), x_access(access), x_shadow(shadow), x_owner(owner), x_offset(offset), x_lane(lane) {
  if (shadow != nullptr) x_lock.emplace(check.x_ledger, shadow->owner(), offset);
}

BlockCheck::Strong::~Strong() {
  if (!x_finished) finish(nullptr);
}

Announcement BlockCheck::Strong::announce_later() {
  Announcement later;
  finish(&later);
  return later;
}

void BlockCheck::Strong::finish(Announcement* later) {
  x_finished = true;
  if (x_shadow != nullptr && x_shadow->tracks_initialisation() && !x_access.reads())
    x_shadow->mark_written(x_offset, x_access.bytes);
  if (x_check.x_ledger.stopped()) return;
  const PlaceId place = x_check.x_grid->place(x_access.place);
  RecordPtr before;
  const Run run{.offset = x_offset, .bytes = x_access.bytes, .lane = static_cast<std::uint32_t>(x_lane)};
  Checker& checker = x_check.checker();
  const bool recorded = x_shadow != nullptr && x_shadow->sectors() != nullptr && x_check.x_grid->records();
  Sector* const sector = recorded ? x_shadow->sectors() + x_offset / kSector : nullptr;
  if (x_shadow != nullptr && x_shadow->kind() == Shadow::Kind::input) x_check.check_input(x_access, *x_shadow, run);
  if (sector != nullptr) before = checker.told(*sector, x_offset);
  if (x_shadow == nullptr)
    if (const auto found = x_owner.x_shared_records.find(x_offset); found != x_owner.x_shared_records.end())
      before = found->second;
  if (before && x_access.kind != Access::Kind::write) x_check.acquire(x_access, before, x_lane, place);
  if (sector != nullptr) x_check.touch_locked(x_access, *x_shadow, run);
  if (x_shadow == nullptr) x_check.shared(x_access, x_owner, run);
  if (x_access.reads()) return;
  const std::optional<Record> record = x_check.release(x_access, before, x_lane, place);
  if (!record) return;
  if (sector != nullptr) {
    const Ref kept = checker.keep(*record);
    if (later != nullptr)
      *later = {checker, *x_shadow, x_offset, kept};
    else
      checker.tell(*sector, x_offset, kept);
  }
  if (x_shadow == nullptr) x_owner.x_shared_records[x_offset] = std::make_shared<Record>(*record);
  if (releases(x_access.order)) x_check.tick();
}

}  // namespace pkb::virtual_gpu::check
