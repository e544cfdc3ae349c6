// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/check/report.h"

// What an access meets in the shadow of its memory. Lanes that access bytes next to each other do it
// together.
namespace pkb::virtual_gpu::check {
namespace {

constexpr std::size_t kMostOthers = 4096;
constexpr auto kNever = [](std::uint64_t, const Entry&) { return false; };

/// Both strong, and each reaches the other: no race whatever their order (PTX ISA, "Morally strong
/// operations").
bool morally_strong(const Ledger& ledger, Stamp a, Stamp b) {
  return a.is_strong() && b.is_strong() &&
         ledger.includes(a.scope(), block_of(a.thread()), block_of(b.thread())) &&
         ledger.includes(b.scope(), block_of(b.thread()), block_of(a.thread()));
}

Stamp stamp_of(const Access& access, Thread thread, std::uint32_t time) {
  Stamp stamp = Stamp::of(thread, time);
  if (access.is_strong()) stamp = stamp.strong(access.scope);
  return access.reads() ? stamp : stamp.writing();
}

bool by_same_warp(Stamp a, Stamp b) { return a.writes() == b.writes() && a.thread() >> 5 == b.thread() >> 5; }

/// `more` goes on what `entry` is about: the two can be one.
[[gnu::always_inline]] inline bool continues(const Entry& entry, const Entry& more) {
  if (entry.stamp == more.stamp && more.stamp.spread() == kOneLane) return entry.place == more.place;
  return entry.place == more.place && entry.stamp.by(0) == more.stamp.by(0) &&
         entry.stamp.thread() >> 5 == more.stamp.thread() >> 5 && entry.spreads_like(more);
}
[[gnu::always_inline]] inline void go_on(Entry& entry, const Entry& more) {
  if (entry.stamp != more.stamp && std::countr_zero(more.bytes) < std::countr_zero(entry.bytes))
    entry.stamp = more.stamp;
  entry.bytes |= more.bytes;
}

/// All bytes of the granules that have some of `bytes`.
Bytes whole_granules(Bytes bytes) {
  static_assert(kGranule == 2);
  return bytes | (bytes & 0x55555555) << 1 | (bytes & 0xaaaaaaaa) >> 1;
}

template <class Each>
void lane_by_lane(const Run& run, Each each) {
  if (run.shift == Run::kOneLane) return each(run);
  const std::uint64_t bytes = std::uint64_t{1} << run.shift;
  for (std::uint64_t done = 0; done < run.bytes; done += bytes)
    each(Run{.offset = run.offset + done,
             .bytes = bytes,
             .lane = run.lane + static_cast<std::uint32_t>(done >> run.shift)});
}

/// Calls `each` with the runs that the lanes' accesses make up.
template <class Each>
void for_runs(const Access& access, bool singly, std::uint32_t mask, const std::uint64_t* offsets,
              Each each) {
  while (mask != 0) {
    const int first = std::countr_zero(mask);
    Run run{.offset = offsets[first], .bytes = access.bytes, .lane = static_cast<std::uint32_t>(first)};
    int next = first + 1;
    const auto follows = [&](std::uint64_t step) {
      return next < 32 && (mask >> next & 1) != 0 && offsets[next] == offsets[next - 1] + step;
    };
    if (!singly && access.reads() && follows(0)) {
      run.shared = true;
      while (follows(0)) ++next;
    } else if (!singly && std::has_single_bit(access.bytes) && run.offset % access.bytes == 0 &&
               follows(access.bytes)) {
      run.shift = static_cast<std::uint32_t>(std::countr_zero(access.bytes));
      for (; follows(access.bytes); ++next) run.bytes += access.bytes;
    }
    each(run);
    mask = next == 32 ? 0 : mask & (~0u << next);
  }
}

}  // namespace

/// Calls `each` for every sector of the run for which `quick`, called with what would be noted there, does
/// not do.
template <class Quick, class Each>
void BlockCheck::for_sectors(Touch& touch, Quick quick, Each each) {
  const Run& run = touch.run;
  const Access& access = touch.access;
  const PlaceId place = touch.me.place = touch.mine.place = x_grid->place(access.place);
  Stamp stamp = stamp_of(access, thread_of(x_block, access.warp, run.lane), x_now);
  if (!access.is_strong()) stamp = stamp.spread_by(std::min(run.shift, kOneLane));
  const Stamp copy = stamp_of(access, thread_of(x_block, access.agent, access.agent_lane), x_now);
  for (std::uint64_t at = run.offset, end = run.offset + run.bytes; at < end;) {
    const std::uint64_t from = at % kSector, count = std::min(kSector - from, end - at);
    const Bytes bytes = (~Bytes{0} >> (kSector - count)) << from;
    const Stamp me = stamp.by(stamp.thread() + static_cast<std::uint32_t>((at - run.offset) >> run.shift));
    if (!quick(at, Entry{me, place, bytes})) {
      touch.at = at - from;
      touch.me.stamp = me;
      touch.mine.stamp = access.agent == 0 ? me : copy;
      touch.me.bytes = touch.mine.bytes = bytes;
      each(at);
    }
    at += count;
  }
}

/// Which of `bytes`, that `other` is about, it and the threads of `touch` access in no order.
Bytes BlockCheck::unordered(const Touch& touch, const Entry& other, Bytes bytes) {
  const View& view = touch.view;
  const Entry& me = touch.me;
  if (knows_warp(view, other.stamp)) return 0;
  const Stamp stamp = other.stamp;
  const bool own = block_of(stamp.thread()) == x_block,
             same_warp = me.stamp.thread() >> 5 == stamp.thread() >> 5;
  if (same_warp && !touch.run.shared && me.spreads_like(other)) return 0;
  const KnownList& threads = own ? view.threads : view.outside->threads;
  if (!same_warp && threads.empty()) return bytes;
  Bytes found = 0;
  for (Bytes left = bytes; left != 0; left &= left - 1) {
    const int byte = std::countr_zero(left);
    const Thread thread = other.thread(byte);
    if (thread == me.thread(byte) && !touch.run.shared) continue;
    if (stamp.time() > time_of(threads, own ? thread & 0x7ff : thread)) found |= Bytes{1} << byte;
  }
  return found;
}

void BlockCheck::global(const Access& access, Shadow& shadow, std::uint32_t mask,
                        const std::uint64_t* offsets) {
  for_runs(access, lanes_differ(access), mask, offsets, [&](const Run& run) { global(access, shadow, run); });
}

void BlockCheck::global(const Access& access, Shadow& shadow, const Run& run) {
  if (lanes_differ(access) && run.shift != Run::kOneLane)
    return lane_by_lane(run, [&](const Run& lane) { global(access, shadow, lane); });
  if (shadow.kind() == Shadow::Kind::input) check_input(access, shadow, run);
  if (shadow.tracks_initialisation()) {
    if (!access.reads())
      shadow.mark_written(run.offset, run.bytes);
    else if (access.kind == Access::Kind::read && !shadow.is_written(run.offset, run.bytes))
      lane_by_lane(run, [&](const Run& lane) {
        if (!shadow.is_written(lane.offset, lane.bytes))
          uninitialised(shadow.name(), lane.offset, thread_of(x_block, access.warp, lane.lane), access.bytes,
                        x_grid->place(access.place));
      });
  }
  if (shadow.sectors() == nullptr || !x_grid->records() || x_ledger.stopped()) return;
  constexpr std::uint64_t kStretch = std::uint64_t{1} << Ledger::kLockShift;
  for (Run part = run; part.offset < run.offset + run.bytes; part.offset += part.bytes) {
    part.bytes = std::min(run.offset + run.bytes - part.offset, kStretch - part.offset % kStretch);
    part.lane = run.lane + static_cast<std::uint32_t>((part.offset - run.offset) >> run.shift);
    const Ledger::Lock lock(x_ledger, shadow.owner(), part.offset);
    touch_locked(access, shadow, part);
  }
}

/// The lock of where `run` is is held.
void BlockCheck::touch_locked(const Access& access, Shadow& shadow, const Run& run) {
  if (access.aliased ? !access.reads() : !x_aliased.empty())
    check_alias(access, shadow, thread_of(x_block, access.warp, run.lane), run.offset);
  Touch touch{access, *view(access.warp, static_cast<int>(run.lane)), shadow.name(), false, run, 0, {}, {}};
  const bool must_be_written = access.kind == Access::Kind::read && shadow.kind() == Shadow::Kind::output;
  for_sectors(touch, kNever, [&](std::uint64_t at) {
    Sector& sector = shadow.sectors()[at / kSector];
    if (must_be_written) check_written(touch, sector.write.bytes);
    touch_sector(touch, sector);
  });
}

void BlockCheck::check_written(const Touch& touch, Bytes written) {
  const Run& run = touch.run;
  const Bytes missing = touch.mine.bytes & ~written;
  if (missing == 0 || (missing & ~whole_granules(written)) == 0) return;
  const int byte = std::countr_zero(missing & ~whole_granules(written));
  const std::uint64_t start = (touch.at + static_cast<std::uint64_t>(byte) - run.offset) >> run.shift
                                                                                                << run.shift;
  uninitialised(touch.memory, run.offset + start, touch.me.thread(byte), touch.access.bytes,
                touch.mine.place);
}

/// A thread that has changed memory by a multicast address looks at it by the memory's own. Only a fence of
/// the proxy makes these two of one location, even for the thread itself.
void BlockCheck::check_alias(const Access& access, const Shadow& shadow, Thread me, std::uint64_t offset) {
  constexpr std::size_t kMost = 1u << 16;
  // Sectors have more bytes than memory has granules.
  const std::uintptr_t granule = reinterpret_cast<std::uintptr_t>(shadow.sectors()) + offset / kGranule;
  const PlaceId place = x_grid->place(access.place);
  if (access.aliased) {
    if (x_aliased.size() < kMost) x_aliased[granule] = {me, place};
    return;
  }
  const auto found = x_aliased.find(granule);
  if (found == x_aliased.end() || found->second.thread != me) return;
  const PlaceId before = found->second.place;
  x_aliased.erase(found);
  checker().report(Fault::Kind::race, place, before, [&] {
    const Stamp mine = Stamp::of(me, x_now);
    Fault fault = fault_at(x_ledger, Fault::Kind::race, place, mine);
    fault.address = offset;
    fault.text = fmt::format(
        "race between proxies at byte {} of {}: the same memory through two addresses, a multicast one and "
        "its own, "
        "without fence.proxy.alias between: {} and {}",
        offset, shadow.name(), describe(x_ledger, mine.writing(), before), describe(x_ledger, mine, place));
    return fault;
  });
}

void BlockCheck::touch_sector(const Touch& touch, Sector& sector) {
  const Entry& mine = touch.mine;
  const auto overtake = [&](const Entry& other) { note(x_ledger, sector.other, touch, other); };
  if (!mine.stamp.writes()) {
    meet_writes(x_ledger, sector.write, touch, overtake);
    return note(x_ledger, sector.other, touch, mine);
  }
  if ((sector.other.bytes & mine.bytes) != 0)
    // The reads, and the strong writes before the last one.
    Entries(x_ledger, sector.other).change_each([&](Entry& other) {
      const Bytes both = other.bytes & mine.bytes;
      // What may happen at any time is not worth the search in the clocks.
      if (both == 0 || morally_strong(x_ledger, other.stamp, mine.stamp)) return;
      const Bytes found = unordered(touch, other, both);
      if (found != 0) conflict(touch, other, found);
      other.forget(both & ~found);
    });
  meet_writes(x_ledger, sector.write, touch, overtake);
  if (!mine.stamp.is_strong() && sector.records != 0)
    for (Bytes left = mine.bytes; left != 0; left &= left - 1)
      checker().tell(sector, static_cast<std::uint64_t>(std::countr_zero(left)), 0);
}

/// The last writes to the bytes, whose place a write takes. Strong ones that it is not ordered with are
/// `overtake`n.
template <class Lists, class Overtake>
void BlockCheck::meet_writes(Lists& lists, Entry& head, const Touch& touch, Overtake overtake) {
  const Entry& mine = touch.mine;
  const bool writes = mine.stamp.writes();
  bool is_noted = !writes;
  const auto meet = [&](Entry& last) {
    const Bytes both = last.bytes & mine.bytes;
    const Bytes found = both == 0 ? 0 : unordered(touch, last, both);
    const bool strong = found != 0 && morally_strong(x_ledger, last.stamp, mine.stamp);
    if (found != 0 && !strong) conflict(touch, last, found);
    if (!writes) return;
    if (strong) {
      Entry other = last;
      other.forget(~found);
      overtake(other);
    }
    if (!is_noted && continues(last, mine)) {
      go_on(last, mine);
      is_noted = true;
    } else {
      last.forget(mine.bytes);
    }
  };
  if (!writes && ((head.bytes & mine.bytes) == 0 ||
                  (!Entries<Lists>::is_list(head) && knows_warp(touch.view, head.stamp))))
    return;
  Entries writers(lists, head);
  if (writes || !writers.is_list()) {
    writers.change_each(meet);
  } else {
    for (std::size_t i = 0; i < writers.size(); ++i) {
      Entry last = writers.get(i);
      meet(last);
    }
  }
  if (!is_noted) writers.add(mine);
}

/// Remembers `entry` for later writes. What happens before it needs no remembering beside it, and of one
/// warp's accesses to a byte the last is enough.
template <class Lists>
void BlockCheck::note(Lists& lists, Entry& head, const Touch& touch, const Entry& entry) {
  const auto forget_passed = [&](Entry& old) {
    const Bytes both = old.bytes & entry.bytes;
    if (both != 0 && !old.stamp.writes() && !entry.stamp.writes())
      old.forget(both & ~unordered(touch, old, both));
  };
  Entries others(lists, head);
  if (!others.is_list()) {
    if (!by_same_warp(head.stamp, entry.stamp))
      forget_passed(head);
    else if (continues(head, entry))
      return go_on(head, entry);
    else
      head.forget(entry.bytes);
    others.add(entry);
    return;
  }
  // A warp that polls comes back to the entry that it has.
  if (x_polled_list == others.list() && x_polled_entry < others.size()) {
    const Entry known = others.get(x_polled_entry);
    if (known.bytes == entry.bytes && by_same_warp(known.stamp, entry.stamp))
      return others.set(x_polled_entry, entry);
  }
  bool is_noted = false;
  for (std::size_t i = 0; i < others.size(); ++i) {
    Entry old = others.get(i);
    if (!by_same_warp(old.stamp, entry.stamp)) continue;
    const bool goes_on = !old.none() && continues(old, entry);
    if (goes_on)
      go_on(old, entry);
    else
      old.forget(entry.bytes);
    const bool holds = !is_noted && (goes_on || old.none());
    others.set(i, holds && !goes_on ? entry : old);
    if (!holds) continue;
    is_noted = true;
    x_polled_list = others.list();
    x_polled_entry = i;
  }
  if (is_noted) {
    head.bytes |= entry.bytes;
    return;
  }
  if (others.is_full()) others.change_each(forget_passed);
  // So many that the loss of one goes unnoticed.
  if (others.size() >= kMostOthers) return others.set(entry.stamp.thread() % others.size(), entry);
  others.add(entry);
}

void BlockCheck::shared(const Access& access, BlockCheck& owner, std::uint32_t mask,
                        const std::uint64_t* offsets) {
  for_runs(access, lanes_differ(access), mask, offsets, [&](const Run& run) { shared(access, owner, run); });
}

void BlockCheck::shared(const Access& access, BlockCheck& owner, const Run& run) {
  if (lanes_differ(access) && run.shift != Run::kOneLane)
    return lane_by_lane(run, [&](const Run& lane) { shared(access, owner, lane); });
  Touch touch{access, *view(access.warp, static_cast<int>(run.lane)), kSharedMemory, true, run, 0, {}, {}};
  SharedShadow& shadow = owner.x_shared;
  // No writer ever has to be compared with a read that all know of, unless it is a copy or another block.
  const std::uint32_t known_to_all =
      x_grid->in_clusters() || shadow.readers() >> kWarps != 0 ? 0 : x_known_to_all;
  const auto look = [&](std::uint64_t at) { touch_shared(touch, owner, at / kSector, known_to_all); };
  if (!access.reads() || &owner != this || access.agent != 0) return for_sectors(touch, kNever, look);
  // A warp reads a tile that all have written together.
  Entry* const reads = shadow.reads(access.warp);
  const auto look_quickly = [&](std::uint64_t at, const Entry& mine) {
    const std::uint64_t sector = at / kSector;
    SharedShadow::Last& last = shadow.last(sector);
    const Entry& write = last.write;
    Entry& read = reads[sector];
    if ((mine.bytes & ~write.bytes) != 0 || !knows_warp(touch.view, write.stamp)) return false;
    if (read.stamp.time() < known_to_all)
      read = mine;
    else if (continues(read, mine))
      go_on(read, mine);
    else
      return false;
    last.read = x_now;
    return true;
  };
  for_sectors(touch, look_quickly, look);
}

void BlockCheck::touch_shared(const Touch& touch, BlockCheck& owner, std::uint64_t sector,
                              std::uint32_t known_to_all) {
  SharedShadow& shadow = owner.x_shared;
  const Access& access = touch.access;
  SharedShadow::Last& last = shadow.last(sector);
  Entry& write = last.write;
  const auto nothing = [](const Entry&) {};
  if (access.kind == Access::Kind::read) check_written(touch, write.bytes);
  if (access.reads()) {
    meet_writes(shadow.lists(), write, touch, nothing);
    if (&owner != this) return note(shadow.lists(), shadow.new_foreign(sector), touch, touch.mine);
    last.read = x_now;
    return note(shadow.lists(), shadow.reads(access.agent != 0 ? access.agent : access.warp)[sector], touch,
                touch.mine);
  }
  if (last.read >= known_to_all) meet_reads(touch, owner, sector);
  if (Entry* const foreign = shadow.foreign(sector)) meet_reads(touch, shadow, *foreign);
  meet_writes(shadow.lists(), write, touch, nothing);
  if (access.is_strong() || owner.x_shared_records.empty()) return;
  for (Bytes left = touch.mine.bytes; left != 0; left &= left - 1)
    owner.x_shared_records.erase(touch.at + static_cast<std::uint64_t>(std::countr_zero(left)));
}

/// A write to shared memory meets the reads by the block that it belongs to.
void BlockCheck::meet_reads(const Touch& touch, BlockCheck& owner, std::uint64_t sector) {
  SharedShadow& shadow = owner.x_shared;
  for (std::uint64_t left = shadow.readers(); left != 0; left &= left - 1) {
    const auto reader = static_cast<std::uint32_t>(std::countr_zero(left));
    Entry& read = shadow.reads(reader)[sector];
    if ((read.bytes & touch.mine.bytes) == 0 ||
        (&owner == this && read.stamp.time() <= touch.view.known[reader]))
      continue;
    meet_reads(touch, shadow, read);
  }
}

void BlockCheck::meet_reads(const Touch& touch, SharedShadow& shadow, Entry& reads) {
  Entries(shadow.lists(), reads).change_each([&](Entry& read) {
    const Bytes both = read.bytes & touch.mine.bytes;
    if (both == 0) return;
    const Bytes found = unordered(touch, read, both);
    if (found != 0 && !touch.access.is_strong()) conflict(touch, read, found);
    read.forget(both);
  });
}

void BlockCheck::conflict(const Touch& touch, const Entry& other, Bytes bytes) {
  const int byte = std::countr_zero(bytes);
  conflict(touch.memory, touch.at + static_cast<std::uint64_t>(byte), touch.is_shared, touch.mine.at(byte),
           touch.mine.place, other.at(byte), other.place, touch.view);
}

void BlockCheck::conflict(const std::string& memory, std::uint64_t offset, bool shared, Stamp mine,
                          PlaceId place, Stamp other, PlaceId other_place, const View& view) {
  // What orders them may be among what was not recorded any more.
  if (x_ledger.stopped()) return;
  const std::uint32_t block = block_of(other.thread());
  const char* between = "between blocks";
  if (rank_of(block) != rank_of(x_block))
    between = "between ranks";
  else if (block == x_block)
    between = agent_of(other.thread()) == agent_of(mine.thread()) ? "within a warp" : "within a block";
  else if (block < x_grid->first() || x_ledger.launch_of(block)->first != x_grid->first())
    between = "between kernels of one rank";
  checker().report(Fault::Kind::race, place, other_place, [&] {
    Fault fault = fault_at(x_ledger, Fault::Kind::race, place, mine);
    fault.address = offset;
    fault.text = fmt::format("race {} at byte {} of {}: {} and {} are not ordered; {}", between, offset,
                             memory, describe(x_ledger, other, other_place), describe(x_ledger, mine, place),
                             cause(mine, other, shared, view));
    return fault;
  });
}

std::string BlockCheck::cause(Stamp mine, Stamp other, bool shared, const View& view) const {
  static constexpr const char* kNames[] = {"cta", "cluster", "gpu", "sys"};
  const auto name = [](Scope scope) { return kNames[static_cast<std::size_t>(scope)]; };
  const std::uint32_t block = block_of(other.thread());
  const char* const reader = rank_of(block) != rank_of(x_block) ? "another GPU" : "another block";
  if (mine.is_strong() && other.is_strong())
    return fmt::format("scope too narrow: a {}-scope access meets one of {}",
                       name(std::min(mine.scope(), other.scope())), reader);
  const auto missed = std::find_if(x_missed.rbegin(), x_missed.rend(), [&](const Missed& each) {
    return each.block == block || rank_of(each.block) == rank_of(block);
  });
  if (missed != x_missed.rend()) {
    const std::string write = place_text(x_ledger, missed->write), read = place_text(x_ledger, missed->read);
    switch (missed->why) {
      case Missed::Why::no_release:
        return fmt::format(
            "flag without release/acquire: it is stored ({}) with neither a release nor a fence before",
            write);
      case Missed::Why::release_scope:
        return fmt::format("scope too narrow: {}-scope release ({}) read by {} ({})", name(missed->scope),
                           write, reader, read);
      case Missed::Why::acquire_scope:
        return fmt::format("scope too narrow: {}-scope acquire ({}) of what {} released ({})",
                           name(missed->scope), read, reader, write);
      case Missed::Why::fence_scope:
        return fmt::format("scope too narrow: the reader's fence scope ({}, {}) does not include the writer",
                           name(missed->scope), read);
    }
  }
  for (const RecordPtr& each : view.observed)
    if (block_of(each->writer) == block || rank_of(block_of(each->writer)) == rank_of(block)) {
      if (each->releases.empty())
        return fmt::format(
            "flag without release/acquire: it is stored ({}) with neither a release nor a fence before",
            place_text(x_ledger, each->place));
      return "flag without acquire: it is read with neither an acquire nor a fence behind";
    }
  if (agent_of(other.thread()) >= kWarps)
    return agent_of(other.thread()) == kBulkWrites ? "the asynchronous store was not complete when the other "
                                                     "side went on: only a bulk wait without .read "
                                                     "says that the writes have arrived"
                                                   : "the asynchronous copy was not waited for";
  if (block == x_block) return shared ? "a barrier is missing between them" : "missing barrier";
  return "no barrier, flag or kernel boundary stands between them";
}

void BlockCheck::check_input(const Access& access, const Shadow& shadow, const Run& run) {
  if (!x_grid->records() || (access.reads() && x_grid->knows_start())) return;
  const PlaceId place = x_grid->place(access.place);
  const Fault::Kind kind = access.reads() ? Fault::Kind::race : Fault::Kind::input_written;
  checker().report(kind, place, 0, [&] {
    const Stamp mine = stamp_of(access, thread_of(x_block, access.warp, run.lane), x_now);
    Fault fault = fault_at(x_ledger, kind, place, mine);
    fault.address = run.offset;
    fault.text = access.reads()
                     ? fmt::format(
                           "race with the start of the run: {} may come before {} is there, since nothing "
                           "orders its stream "
                           "behind ctx.stream(); let it wait for an event that ctx.stream() records first",
                           describe(x_ledger, mine, place), shadow.name())
                     : fmt::format("{} at byte {} of {}, but inputs are not the candidate's to change",
                                   describe(x_ledger, mine, place), run.offset, shadow.name());
    return fault;
  });
}

void BlockCheck::uninitialised(const std::string& memory, std::uint64_t offset, Thread thread,
                               std::uint32_t bytes, PlaceId place) {
  checker().report(Fault::Kind::uninitialised, place, 0, [&] {
    Fault fault = fault_at(x_ledger, Fault::Kind::uninitialised, place, Stamp::of(thread, x_now));
    fault.address = offset;
    fault.text =
        fmt::format("read of {} bytes at byte {} of {}, which nothing has written", bytes, offset, memory);
    return fault;
  });
}

}  // namespace pkb::virtual_gpu::check
