// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/check/report.h"

// What an access meets in the shadow of its memory.
namespace pkb::virtual_gpu::check {
namespace {

constexpr std::size_t kMostOthers = 4096;
constexpr std::size_t kEntry = 3;  // words of an access in a list: stamp and place

bool is_list(std::uint64_t other) { return other >> 38 == kLastTime; }
Ref list_of(std::uint64_t other) { return static_cast<Ref>(other >> 6); }
std::uint64_t list_bits(Ref ref) { return Stamp::of(ref, kLastTime).bits; }

/// The accesses in a list: its first word counts them.
struct List {
  std::span<std::uint32_t> words;
  std::size_t capacity() const { return words.empty() ? 0 : (words.size() - 1) / kEntry; }
  std::size_t size() const { return words.empty() ? 0 : std::min<std::size_t>(words[0], capacity()); }
  Stamp stamp(std::size_t i) const {
    return {std::uint64_t{words[1 + i * kEntry]} << 32 | words[2 + i * kEntry]};
  }
  PlaceId place(std::size_t i) const { return words[3 + i * kEntry]; }
  void set(std::size_t i, Stamp stamp, PlaceId place) {
    words[1 + i * kEntry] = static_cast<std::uint32_t>(stamp.bits >> 32);
    words[2 + i * kEntry] = static_cast<std::uint32_t>(stamp.bits);
    words[3 + i * kEntry] = place;
  }
  void remove(std::size_t i) {
    const std::size_t last = size() - 1;
    set(i, stamp(last), place(last));
    words[0] = static_cast<std::uint32_t>(last);
  }
};

/// Both strong, and each reaches the other: no race whatever their order (PTX ISA, "Morally strong operations").
bool morally_strong(Stamp a, Stamp b) {
  return a.is_strong() && b.is_strong() && includes(a.scope(), block_of(a.thread()), block_of(b.thread())) &&
         includes(b.scope(), block_of(b.thread()), block_of(a.thread()));
}

Stamp stamp_of(const Access& access, Thread thread, std::uint32_t time) {
  Stamp stamp = Stamp::of(thread, time);
  if (access.is_strong()) stamp = stamp.strong(access.scope);
  return access.reads() ? stamp : stamp.writing();
}

/// Calls `each` with the offset and the bytes in use of every granule of [offset, offset + bytes).
template <class Each>
void for_granules(std::uint64_t offset, std::uint64_t bytes, Each each) {
  const std::uint64_t end = offset + bytes;
  for (std::uint64_t at = offset / kGranule * kGranule; at < end; at += kGranule)
    each(at, (at >= offset ? 1u : 0u) | (at + 1 < end ? 2u : 0u));
}

}  // namespace

bool BlockCheck::ordered(const View& view, Thread me, Stamp stamp) {
  const Thread other = stamp.thread();
  if (other == me || (stamp.moment() == x_known_moment && &view == x_known_by)) return true;
  if (block_of(other) == x_block) {
    const std::uint32_t agent = agent_of(other), time = stamp.time();
    if (time > view.known[agent]) return time <= time_of(view.threads, other & 0x7ff);
  } else if (!view.outside->knows(stamp)) {
    return false;
  } else if (time_of(view.outside->threads, other) >= stamp.time()) {
    return true;  // perhaps of this lane alone
  }
  x_known_moment = stamp.moment();
  x_known_by = &view;
  return true;
}

void BlockCheck::global(const Access& access, Shadow& shadow, std::uint32_t mask, const std::uint64_t* offsets) {
  if (shadow.tracks_initialisation()) {
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (!access.reads())
        shadow.mark_written(offsets[lane], access.bytes);
      else if (access.kind == Access::Kind::read && !shadow.is_trusted() &&
               !shadow.is_written(offsets[lane], access.bytes))
        uninitialised(shadow.name(), offsets[lane],
                      thread_of(x_block, access.warp, static_cast<std::uint32_t>(lane)), access.bytes,
                      x_grid->place(access.place));
    }
  }
  if (shadow.cells() == nullptr || !x_grid->records() || x_ledger.stopped()) return;
  while (mask != 0) {
    const std::uint64_t stretch = offsets[std::countr_zero(mask)] >> Ledger::kLockShift;
    const Ledger::Lock lock(x_ledger, shadow.owner(), stretch << Ledger::kLockShift);
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (offsets[lane] >> Ledger::kLockShift != stretch) continue;
      touch(access, shadow, lane, offsets[lane]);
      mask &= ~(1u << lane);
    }
  }
}

void BlockCheck::stretch(const Access& access, Shadow& shadow, int lane, std::uint64_t offset,
                         std::uint64_t bytes) {
  constexpr std::uint64_t kStretch = std::uint64_t{1} << Ledger::kLockShift;
  if (!access.reads() && shadow.tracks_initialisation()) shadow.mark_written(offset, bytes);
  if (shadow.cells() == nullptr || !x_grid->records() || x_ledger.stopped()) return;
  Access part = access;
  while (bytes != 0) {
    const std::uint64_t here = std::min(bytes, kStretch - offset % kStretch);
    const Ledger::Lock lock(x_ledger, shadow.owner(), offset);
    part.bytes = static_cast<std::uint32_t>(here);
    touch(part, shadow, lane, offset);
    offset += here;
    bytes -= here;
  }
}

void BlockCheck::touch(const Access& access, Shadow& shadow, int lane, std::uint64_t offset) {
  const Thread me = thread_of(x_block, access.warp, static_cast<std::uint32_t>(lane));
  const Thread its = access.agent != 0 ? thread_of(x_block, access.agent, access.agent_lane) : me;
  const Stamp stamp = stamp_of(access, its, x_now);
  const PlaceId place = x_grid->place(access.place);
  const View& mine = *view(access.warp, lane);
  bool missing = false;
  if (access.aliased ? !access.reads() : !x_aliased.empty()) check_alias(access, shadow, me, offset);
  for_granules(offset, access.bytes, [&](std::uint64_t at, std::uint32_t bytes) {
    Cell& cell = shadow.cells()[at / kGranule];
    missing |= access.kind == Access::Kind::read && cell.write == 0;
    touch_cell(shadow, cell, me, stamp.with_bytes(bytes), place, mine, at);
  });
  if (missing && shadow.kind() == Shadow::Kind::output && !shadow.is_trusted()) uninitialised(shadow.name(), offset, me, access.bytes, place);
}

/// A thread that has changed memory by a multicast address looks at it by the memory's own. Only a fence of the proxy makes
/// these two of one location, even for the thread itself.
void BlockCheck::check_alias(const Access& access, Shadow& shadow, Thread me, std::uint64_t offset) {
  constexpr std::size_t kMost = 1u << 16;
  const Cell* const cell = shadow.cells() + offset / kGranule;
  const PlaceId place = x_grid->place(access.place);
  if (access.aliased) {
    if (x_aliased.size() < kMost) x_aliased[cell] = {me, place};
    return;
  }
  const auto found = x_aliased.find(cell);
  if (found == x_aliased.end() || found->second.thread != me) return;
  const PlaceId before = found->second.place;
  x_aliased.erase(found);
  checker().report(Fault::Kind::race, place, before, [&] {
    const Stamp mine = Stamp::of(me, x_now);
    Fault fault = fault_at(x_ledger, Fault::Kind::race, place, mine);
    fault.address = offset;
    fault.text = fmt::format(
        "race between proxies at byte {} of {}: the same memory through two addresses, a multicast one and its own, "
        "without fence.proxy.alias between: {} and {}",
        offset, shadow.name(), describe(x_ledger, mine.writing(), before), describe(x_ledger, mine, place));
    return fault;
  });
}

void BlockCheck::touch_cell(Shadow& shadow, Cell& cell, Thread me, Stamp stamp, PlaceId place, const View& view,
                            std::uint64_t offset) {
  const Stamp last{cell.write};
  const bool unordered = !last.none() && (last.bytes() & stamp.bytes()) != 0 && !ordered(view, me, last);
  const bool strong = unordered && morally_strong(last, stamp);
  if (unordered && !strong) conflict(shadow.name(), offset, false, stamp, place, last, cell.write_place, view);
  if (!stamp.writes()) return note_other(cell, me, stamp, place, view);
  if (cell.other != 0) check_others(shadow, cell, me, stamp, place, view, offset);
  if (strong) note_other(cell, me, last, cell.write_place, view);
  const bool same = last.thread() == stamp.thread() && last.time() == stamp.time();
  cell.write = same ? stamp.bits | last.bytes() : stamp.bits;
  cell.write_place = place;
  if (!stamp.is_strong()) checker().replace(cell.record, 0);
}

/// A write meets the reads, and the strong writes before the last one.
void BlockCheck::check_others(Shadow& shadow, Cell& cell, Thread me, Stamp stamp, PlaceId place, const View& view,
                              std::uint64_t offset) {
  const auto passed = [&](Stamp other, PlaceId other_place) {
    // What may happen at any time is not worth the search in the clocks.
    if ((other.bytes() & stamp.bytes()) == 0 || morally_strong(other, stamp)) return false;
    if (ordered(view, me, other)) return true;
    conflict(shadow.name(), offset, false, stamp, place, other, other_place, view);
    return false;
  };
  if (!is_list(cell.other)) {
    if (passed({cell.other}, cell.other_place)) cell.other = 0;
    return;
  }
  List list{x_ledger.words(list_of(cell.other))};
  for (std::size_t i = list.size(); i-- > 0;)
    if (passed(list.stamp(i), list.place(i))) list.remove(i);
  if (list.size() == 0) x_ledger.drop(list_of(std::exchange(cell.other, 0)));
}

/// Remembers `stamp` for later writes. What happens before it needs no remembering beside it, and of one warp's
/// accesses the last is enough.
void BlockCheck::note_other(Cell& cell, Thread me, Stamp stamp, PlaceId place, const View& view) {
  const auto is_same_warp = [&](Stamp old) {
    return (old.bytes() & ~stamp.bytes()) == 0 && old.writes() == stamp.writes() && old.thread() >> 5 == stamp.thread() >> 5;
  };
  const auto is_passed = [&](Stamp old) {
    return (old.bytes() & ~stamp.bytes()) == 0 && !old.writes() && !stamp.writes() && ordered(view, me, old);
  };
  if (cell.other == 0 || (!is_list(cell.other) && (is_same_warp({cell.other}) || is_passed({cell.other})))) {
    cell.other = stamp.bits;
    cell.other_place = place;
    return;
  }
  if (!is_list(cell.other)) {
    std::vector<std::uint32_t> words(1 + 4 * kEntry);
    const Ref ref = x_ledger.keep(words);
    if (ref == 0) return;
    List list{x_ledger.words(ref)};
    list.set(0, {cell.other}, cell.other_place);
    list.words[0] = 1;
    cell.other = list_bits(ref);
  }
  List list{x_ledger.words(list_of(cell.other))};
  // A warp that polls comes back to the entry that it has.
  if (x_polled_list == list_of(cell.other) && x_polled_entry < list.size() && is_same_warp(list.stamp(x_polled_entry)))
    return list.set(x_polled_entry, stamp, place);
  for (std::size_t i = 0; i < list.size(); ++i)
    if (is_same_warp(list.stamp(i))) {
      x_polled_list = list_of(cell.other);
      x_polled_entry = i;
      return list.set(i, stamp, place);
    }
  for (std::size_t i = list.size() == list.capacity() ? list.size() : 0; i-- > 0;)
    if (is_passed(list.stamp(i))) list.remove(i);
  if (list.size() == list.capacity()) {
    // So many that the loss of one goes unnoticed.
    if (list.capacity() >= kMostOthers) return list.set(stamp.thread() % list.capacity(), stamp, place);
    std::vector<std::uint32_t> larger(1 + 2 * list.capacity() * kEntry);
    std::copy(list.words.begin(), list.words.end(), larger.begin());
    const Ref ref = x_ledger.keep(larger);
    if (ref == 0) return;
    x_ledger.drop(list_of(cell.other));
    cell.other = list_bits(ref);
    list.words = x_ledger.words(ref);
  }
  const std::size_t end = list.size();
  list.words[0] = static_cast<std::uint32_t>(end + 1);
  list.set(end, stamp, place);
}

void BlockCheck::shared(const Access& access, BlockCheck& owner, std::uint32_t mask, const std::uint64_t* offsets) {
  for (std::uint32_t left = mask; left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    touch_shared(access, owner, lane, offsets[lane]);
  }
}

void BlockCheck::shared_stretch(const Access& access, BlockCheck& owner, int lane, std::uint64_t offset,
                                std::uint64_t bytes) {
  Access whole = access;
  whole.bytes = static_cast<std::uint32_t>(bytes);
  touch_shared(whole, owner, lane, offset);
}

void BlockCheck::touch_shared(const Access& access, BlockCheck& owner, int lane, std::uint64_t offset) {
  static const std::string kName = "shared memory";
  const Thread me = thread_of(x_block, access.warp, static_cast<std::uint32_t>(lane));
  const std::uint32_t agent = access.agent != 0 ? access.agent : access.warp;
  const std::uint32_t agent_lane = access.agent != 0 ? access.agent_lane : static_cast<std::uint32_t>(lane);
  const Stamp stamp = stamp_of(access, thread_of(x_block, agent, agent_lane), x_now);
  const PlaceId place = x_grid->place(access.place);
  const View& mine = *view(access.warp, lane);
  SharedShadow& shadow = owner.x_shared;
  bool missing = false;
  const auto check_read = [&](std::uint64_t at, Stamp now, Stamp read, PlaceId read_place) {
    if (!ordered(mine, me, read) && !access.is_strong())
      conflict(kName, at, true, now, place, read, read_place, mine);
  };
  for_granules(offset, access.bytes, [&](std::uint64_t at, std::uint32_t bytes) {
    const std::uint64_t granule = at / kGranule;
    SharedShadow::Write& last = shadow.write(granule);
    const Stamp now = stamp.with_bytes(bytes);
    if (last.stamp.none())
      missing |= access.kind == Access::Kind::read;
    else if ((last.stamp.bytes() & bytes) != 0 && !ordered(mine, me, last.stamp) && !morally_strong(last.stamp, now))
      conflict(kName, at, true, now, place, last.stamp, last.place, mine);
    if (access.reads()) {
      if (&owner == this)
        shadow.reads(agent)[granule] = SharedShadow::Read::of(x_now, agent_lane, place);
      else
        shadow.note_foreign(granule, now, place);
      return;
    }
    for (std::uint64_t left = shadow.readers(); left != 0; left &= left - 1) {
      const auto reader = static_cast<std::uint32_t>(std::countr_zero(left));
      SharedShadow::Read& read = shadow.reads(reader)[granule];
      if (read.none() || (&owner == this && read.time() <= mine.known[reader])) continue;
      check_read(at, now, Stamp::of(thread_of(owner.x_block, reader, read.lane()), read.time()).with_bytes(3), read.place());
      read = {};
    }
    if (const auto* foreign = shadow.foreign(granule))
      for (const SharedShadow::Write& each : *foreign) check_read(at, now, each.stamp, each.place);
    const bool same = last.stamp.thread() == now.thread() && last.stamp.time() == x_now;
    last = {same ? Stamp{now.bits | last.stamp.bytes()} : now, place};
    if (!access.is_strong() && !owner.x_shared_records.empty()) owner.x_shared_records.erase(at);
  });
  if (missing) uninitialised(kName, offset, me, access.bytes, place);
}

void BlockCheck::conflict(const std::string& memory, std::uint64_t offset, bool shared, Stamp mine, PlaceId place,
                          Stamp other, PlaceId other_place, const View& view) {
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
    fault.text = fmt::format("race {} at byte {} of {}: {} and {} are not ordered; {}", between, offset, memory,
                             describe(x_ledger, other, other_place), describe(x_ledger, mine, place),
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
        return fmt::format("flag without release/acquire: it is stored ({}) with neither a release nor a fence before",
                           write);
      case Missed::Why::release_scope:
        return fmt::format("scope too narrow: {}-scope release ({}) read by {} ({})", name(missed->scope), write, reader, read);
      case Missed::Why::acquire_scope:
        return fmt::format("scope too narrow: {}-scope acquire ({}) of what {} released ({})", name(missed->scope), read,
                           reader, write);
      case Missed::Why::fence_scope:
        return fmt::format("scope too narrow: the reader's fence scope ({}, {}) does not include the writer",
                           name(missed->scope), read);
    }
  }
  for (const RecordPtr& each : view.observed)
    if (block_of(each->writer) == block || rank_of(block_of(each->writer)) == rank_of(block)) {
      if (each->releases.empty())
        return fmt::format("flag without release/acquire: it is stored ({}) with neither a release nor a fence before",
                           place_text(x_ledger, each->place));
      return "flag without acquire: it is read with neither an acquire nor a fence behind";
    }
  if (agent_of(other.thread()) >= kWarps)
    return agent_of(other.thread()) == kBulkWrites
               ? "the asynchronous store was not complete when the other side went on: only a bulk wait without .read "
                 "says that the writes have arrived"
               : "the asynchronous copy was not waited for";
  if (block == x_block) return shared ? "a barrier is missing between them" : "missing barrier";
  return "no barrier, flag or kernel boundary stands between them";
}

void BlockCheck::uninitialised(const std::string& memory, std::uint64_t offset, Thread thread, std::uint32_t bytes,
                               PlaceId place) {
  checker().report(Fault::Kind::uninitialised, place, 0, [&] {
    Fault fault = fault_at(x_ledger, Fault::Kind::uninitialised, place, Stamp::of(thread, x_now));
    fault.address = offset;
    fault.text = fmt::format("read of {} bytes at byte {} of {}, which nothing has written", bytes, offset, memory);
    return fault;
  });
}

}  // namespace pkb::virtual_gpu::check
