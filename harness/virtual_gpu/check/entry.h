// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/check/stamp.h"

namespace pkb::virtual_gpu::check {

/// Bytes of memory that are looked at together.
inline constexpr std::uint64_t kSector = 32;
/// One bit a byte.
using Bytes = std::uint32_t;

/// An access by the threads of one warp to bytes of a sector.
struct Entry {
  Stamp stamp;  ///< its thread accessed the first of the bytes
  PlaceId place = 0;
  Bytes bytes = 0;

  bool none() const { return bytes == 0; }
  /// The thread that accessed `byte`.
  Thread thread(int byte) const {
    const std::uint32_t spread = stamp.spread();
    return stamp.thread() + (static_cast<std::uint32_t>(byte) >> spread) -
           (static_cast<std::uint32_t>(std::countr_zero(bytes)) >> spread);
  }
  /// The access to `byte` alone.
  Stamp at(int byte) const { return stamp.by(thread(byte)); }
  void forget(Bytes gone) {
    const Bytes left = bytes & ~gone;
    if (left != 0 && (gone & (bytes & -bytes)) != 0) stamp = at(std::countr_zero(left));
    bytes = left;
  }
  /// The bytes of both have the threads that this one's rule gives them.
  bool spreads_like(const Entry& other) const {
    return stamp.spread() == other.stamp.spread() && thread(0) == other.thread(0);
  }
};
static_assert(sizeof(Entry) == 16);

/// Several entries where there is room for one: the time of `head` is kLastTime then, its place is the Ref of
/// their list in `lists`, and it has all their bytes. A list's first word counts its entries.
template <class Lists>
class Entries {
 public:
  Entries(Lists& lists, Entry& head) : x_lists(lists), x_head(head) { find(); }

  static bool is_list(const Entry& head) { return head.stamp.time() == kLastTime; }
  bool is_list() const { return is_list(x_head); }
  Ref list() const { return x_head.place; }
  std::size_t size() const {
    if (!is_list()) return x_head.none() ? 0 : 1;
    return x_words.empty() ? 0 : std::min<std::size_t>(x_words[0], capacity());
  }
  std::size_t capacity() const { return x_words.size() < kHeader ? 0 : (x_words.size() - kHeader) / kWords; }
  Entry get(std::size_t i) const {
    if (!is_list()) return x_head;
    const std::uint32_t* const at = x_words.data() + kHeader + i * kWords;
    return {{std::uint64_t{at[0]} << 32 | at[1]}, at[2], at[3]};
  }
  void set(std::size_t i, const Entry& entry) {
    if (!is_list()) {
      x_head = entry;
      return;
    }
    std::uint32_t* const at = x_words.data() + kHeader + i * kWords;
    at[0] = static_cast<std::uint32_t>(entry.stamp.bits >> 32);
    at[1] = static_cast<std::uint32_t>(entry.stamp.bits);
    at[2] = entry.place;
    at[3] = entry.bytes;
  }
  bool is_full() const { return is_list() && size() == capacity(); }
  /// False, and nothing happens, when there is no memory for it.
  bool add(const Entry& entry) {
    if (x_head.none()) {
      x_head = entry;
      return true;
    }
    if ((!is_list() || is_full()) && !grow()) return false;
    const std::size_t end = size();
    x_words[0] = static_cast<std::uint32_t>(end + 1);
    set(end, entry);
    x_head.bytes |= entry.bytes;
    return true;
  }
  /// Calls `change` on each entry, which may forget bytes of it; what has none left goes.
  template <class Change>
  void change_each(Change change) {
    if (!is_list()) {
      if (!x_head.none()) change(x_head);
      if (x_head.none()) x_head = {};
      return;
    }
    Bytes all = 0;
    std::size_t left = 0;
    for (std::size_t i = 0, end = size(); i < end; ++i) {
      Entry entry = get(i);
      change(entry);
      if (entry.none()) continue;
      all |= entry.bytes;
      set(left++, entry);
    }
    shrink(left, all);
  }

 private:
  static constexpr std::size_t kHeader = 2, kWords = 4;

  void find() { x_words = is_list() ? x_lists.words(x_head.place) : std::span<std::uint32_t>(); }
  bool grow() {
    const std::size_t count = size();
    std::vector<std::uint32_t> larger(kHeader + std::max<std::size_t>(4, 2 * count) * kWords);
    const Ref ref = x_lists.keep(larger);
    if (ref == 0) return false;
    Entry head{Stamp::of(0, kLastTime), ref, x_head.bytes};
    Entries grown(x_lists, head);
    for (std::size_t i = 0; i < count; ++i) grown.set(i, get(i));
    grown.x_words[0] = static_cast<std::uint32_t>(count);
    if (is_list()) x_lists.drop(x_head.place);
    x_head = head;
    find();
    return true;
  }
  void shrink(std::size_t count, Bytes bytes) {
    if (count > 1) {
      x_words[0] = static_cast<std::uint32_t>(count);
      x_head.bytes = bytes;
      return;
    }
    const Entry last = count == 1 ? get(0) : Entry{};
    x_lists.drop(x_head.place);
    x_head = last;
    find();
  }

  Lists& x_lists;
  Entry& x_head;
  std::span<std::uint32_t> x_words;
};

/// Words of one process, kept as a Ledger keeps those of all.
class LocalLists {
 public:
  Ref keep(const std::vector<std::uint32_t>& words) {
    if (x_free.empty()) {
      x_lists.push_back(words);
      return static_cast<Ref>(x_lists.size());
    }
    const Ref ref = x_free.back();
    x_free.pop_back();
    x_lists[ref - 1] = words;
    return ref;
  }
  void drop(Ref ref) { x_free.push_back(ref); }
  std::span<std::uint32_t> words(Ref ref) { return x_lists[ref - 1]; }

 private:
  std::vector<std::vector<std::uint32_t>> x_lists;
  std::vector<Ref> x_free;
};

}  // namespace pkb::virtual_gpu::check
