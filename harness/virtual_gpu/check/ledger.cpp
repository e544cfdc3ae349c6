// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/ledger.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace pkb::virtual_gpu::check {
namespace {

constexpr std::uint32_t kLaunches = 8192, kPlaces = 32768, kLocks = 4096;
constexpr int kPlaceBits = 20;         // of a PlaceId, below the rank
constexpr int kUnit = 4;               // words a Ref counts in
constexpr std::uint64_t kHeader = 2;   // words before those that are kept: how many they are, and their serial number
constexpr int kRefBits = 32 - kRankBits;

// Entries have one of few sizes, so that what is dropped fits what is kept next: four leading bits, the others zero.
int bits_behind(std::uint64_t units) { return std::max(static_cast<int>(std::bit_width(units)) - 4, 0); }
std::uint64_t units_of(std::uint64_t words) {
  const std::uint64_t units = (words + kHeader + kUnit - 1) / kUnit, step = std::uint64_t{1} << bits_behind(units);
  return (units + step - 1) / step * step;
}
constexpr std::size_t kSizes = 16 * 32;
std::size_t size_index(std::uint64_t units) {
  const int bits = bits_behind(units);
  return static_cast<std::size_t>(bits) << 4 | units >> bits;
}

std::string_view text_of(const char* text, std::size_t size) { return {text, ::strnlen(text, size)}; }

}  // namespace

struct Ledger::Part {
  std::atomic<std::uint32_t> stopped;
  std::atomic<std::uint32_t> blocks, launches, places;
  std::atomic<std::uint64_t> used;  // units of the words below, the first being no Ref
  std::atomic<std::uint32_t> serial;
  // Dropped entries by size, each list the first's unit below a count of its changes. The second word leads to the next.
  std::atomic<std::uint64_t> dropped[kSizes];
  char why[256];
  std::atomic<std::uint32_t> locks[kLocks];
  Launch launch[kLaunches];
  Place place[kPlaces];
  std::uint32_t words[];

  static constexpr std::uint64_t units() {
    return std::min<std::uint64_t>((kBytes - sizeof(Part)) / (kUnit * sizeof(std::uint32_t)),
                                   std::uint64_t{1} << kRefBits);
  }
  std::atomic_ref<std::uint32_t> next(std::uint32_t unit) { return std::atomic_ref(words[std::uint64_t{unit} * kUnit + 1]); }

  /// Where a dropped entry of this size was; 0 when there is none.
  std::uint32_t take(std::uint64_t size) {
    std::atomic<std::uint64_t>& list = dropped[size_index(size)];
    std::uint64_t head = list;
    for (;;) {
      const auto first = static_cast<std::uint32_t>(head);
      if (first == 0 || first + size > units()) return 0;
      if (list.compare_exchange_weak(head, changed(head, next(first)))) return first;
    }
  }
  void give(std::uint64_t size, std::uint32_t first) {
    std::atomic<std::uint64_t>& list = dropped[size_index(size)];
    std::uint64_t head = list;
    do next(first) = static_cast<std::uint32_t>(head);
    while (!list.compare_exchange_weak(head, changed(head, first)));
  }
  static std::uint64_t changed(std::uint64_t head, std::uint32_t first) { return ((head >> 32) + 1) << 32 | first; }
};

Ledger::Ledger(std::vector<std::byte*> parts, int rank) : x_parts(std::move(parts)), x_rank(rank) {}

Ledger::Part& Ledger::own() const { return part(x_rank); }

void Ledger::clear() {
  Part& mine = own();
  mine.stopped = mine.blocks = mine.launches = 0;
  // The pages go back to the system: a run that recorded much must not weigh on the next.
  const auto page = reinterpret_cast<std::uintptr_t>(mine.words) / 4096 * 4096 + 4096;
  const std::uint64_t end = reinterpret_cast<std::uintptr_t>(mine.words) + mine.used * kUnit * 4;
  mine.used = 0;
  for (auto& list : mine.dropped) list = 0;
  std::memset(mine.words, 0, page - reinterpret_cast<std::uintptr_t>(mine.words));
  if (end > page) ::madvise(reinterpret_cast<void*>(page), end - page, MADV_REMOVE);
}

void Ledger::stop(std::string_view why) {
  Part& mine = own();
  if (mine.stopped.exchange(1) != 0) return;
  const std::size_t length = std::min(why.size(), sizeof mine.why - 1);
  std::memcpy(mine.why, why.data(), length);
  mine.why[length] = 0;
}

bool Ledger::stopped() const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (part(rank).stopped.load(std::memory_order_relaxed) != 0) return true;
  return false;
}

std::string Ledger::why_stopped() const {
  for (int rank = 0; rank < ranks(); ++rank)
    if (part(rank).stopped != 0) return std::string(text_of(part(rank).why, sizeof part(rank).why));
  return {};
}

std::optional<std::uint32_t> Ledger::add_launch(Launch launch, std::uint64_t blocks) {
  Part& mine = own();
  const std::uint32_t first = mine.blocks;
  if (mine.launches >= kLaunches || blocks > kBlocksPerRank - first) {
    stop("more launches or blocks in one run than race checking can number");
    return std::nullopt;
  }
  const std::uint32_t base = static_cast<std::uint32_t>(x_rank) * kBlocksPerRank;
  launch.first = base + first;
  launch.end = launch.first + static_cast<std::uint32_t>(blocks);
  mine.launch[mine.launches] = launch;
  mine.blocks = first + static_cast<std::uint32_t>(blocks);
  mine.launches.fetch_add(1, std::memory_order_release);
  return launch.first;
}

std::optional<Ledger::Launch> Ledger::launch_of(std::uint32_t block) const {
  const std::uint32_t rank = rank_of(block);
  if (rank >= static_cast<std::uint32_t>(ranks())) return std::nullopt;
  const Part& its = part(static_cast<int>(rank));
  const std::uint32_t count = std::min(its.launches.load(std::memory_order_acquire), kLaunches);
  const auto found = std::upper_bound(its.launch, its.launch + count, block,
                                      [](std::uint32_t at, const Launch& launch) { return at < launch.end; });
  if (found == its.launch + count || found->first > block) return std::nullopt;
  Launch launch = *found;
  launch.name[sizeof launch.name - 1] = 0;
  return launch;
}

bool Ledger::in_one_cluster(std::uint32_t a, std::uint32_t b) const {
  const std::optional<Launch> launch = launch_of(a);
  if (!launch || b < launch->first || b >= launch->end) return false;
  std::uint32_t first = a - launch->first, second = b - launch->first;
  for (int i = 0; i < 3; ++i) {
    const std::uint32_t size = std::max(launch->grid[i], 1u), cluster = std::max(launch->cluster[i], 1u);
    if (first % size / cluster != second % size / cluster) return false;
    first /= size;
    second /= size;
  }
  return true;
}

PlaceId Ledger::add_place(const Place& place) {
  Part& mine = own();
  const std::uint32_t index = mine.places;
  if (index + 1 >= kPlaces) return 0;
  mine.place[index + 1] = place;
  mine.places.fetch_add(1, std::memory_order_release);
  return static_cast<std::uint32_t>(x_rank) << kPlaceBits | (index + 1);
}

std::optional<Ledger::Place> Ledger::place(PlaceId id) const {
  const std::uint32_t rank = id >> kPlaceBits, index = id & ((1u << kPlaceBits) - 1);
  if (rank >= static_cast<std::uint32_t>(ranks()) || index == 0 || index >= kPlaces) return std::nullopt;
  Place place = part(static_cast<int>(rank)).place[index];
  place.file[sizeof place.file - 1] = place.inner[sizeof place.inner - 1] = place.opcode[sizeof place.opcode - 1] = 0;
  return place;
}

Ref Ledger::keep(std::span<const std::uint32_t> words) {
  Part& mine = own();
  const std::uint64_t units = units_of(words.size());
  std::uint64_t first = mine.take(units);
  if (first == 0) first = mine.used.fetch_add(units) + 1;
  if (first + units > Part::units()) {
    stop("more synchronisation in one run than race checking has memory for");
    return 0;
  }
  std::uint32_t* const to = mine.words + first * kUnit;
  to[0] = static_cast<std::uint32_t>(words.size());
  to[1] = ++mine.serial;
  std::copy(words.begin(), words.end(), to + kHeader);
  return static_cast<std::uint32_t>(x_rank) << kRefBits | static_cast<std::uint32_t>(first);
}

void Ledger::drop(Ref ref) {
  const std::uint32_t* const at = entry(ref);
  if (at == nullptr) return;
  part(static_cast<int>(ref >> kRefBits)).give(units_of(at[0]), ref & ((1u << kRefBits) - 1));
}

/// Null when there can be none.
std::uint32_t* Ledger::entry(Ref ref) const {
  const std::uint32_t rank = ref >> kRefBits;
  const std::uint64_t first = ref & ((1u << kRefBits) - 1);
  if (rank >= static_cast<std::uint32_t>(ranks()) || first == 0 || first >= Part::units()) return nullptr;
  std::uint32_t* const at = part(static_cast<int>(rank)).words + first * kUnit;
  return at[0] > (Part::units() - first) * kUnit - kHeader ? nullptr : at;
}

std::span<std::uint32_t> Ledger::words(Ref ref) {
  std::uint32_t* const at = entry(ref);
  return at != nullptr ? std::span(at + kHeader, at[0]) : std::span<std::uint32_t>();
}

std::uint32_t Ledger::serial(Ref ref) const {
  const std::uint32_t* const at = entry(ref);
  return at != nullptr ? at[1] : 0;
}

std::span<const std::uint32_t> Ledger::words(Ref ref) const { return const_cast<Ledger*>(this)->words(ref); }

Ledger::Lock::Lock(const Ledger& ledger, int owner, std::uint64_t offset) {
  const std::uint64_t stretch = offset >> kLockShift;
  x_word = &ledger.part(owner).locks[(stretch * 0x9e3779b97f4a7c15) >> 52];
  for (int tries = 0; x_word->exchange(1, std::memory_order_acquire) != 0;)
    if (++tries % 64 == 0) ::sched_yield();
}

}  // namespace pkb::virtual_gpu::check
