// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/clock.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace pkb::virtual_gpu::check {
namespace {

KnownList::const_iterator position(const KnownList& list, std::uint32_t key) {
  return std::lower_bound(list.begin(), list.end(), key,
                          [](const Known& known, std::uint32_t wanted) { return known.key < wanted; });
}

std::vector<Clock::Interval> united(const std::vector<Clock::Interval>& a,
                                    const std::vector<Clock::Interval>& b) {
  std::vector<Clock::Interval> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  std::vector<Clock::Interval> merged;
  for (const Clock::Interval& each : all)
    if (!merged.empty() && each.first <= merged.back().end)
      merged.back().end = std::max(merged.back().end, each.end);
    else
      merged.push_back(each);
  return merged;
}

// Threads that do the same, each with its own words, have neighbouring keys and times a step apart, and there are
// thousands of them. Such a run takes four words: key and time of the first, how many follow, both steps. What stands
// alone takes two.
constexpr std::uint32_t kRun = 1u << 31;  // in the time, which has kTimeBits
constexpr std::uint32_t kMostKnown = 1u << 24;

KnownList::const_iterator encode_run(std::vector<std::uint32_t>& words, KnownList::const_iterator first,
                                     KnownList::const_iterator end) {
  const auto step = [](KnownList::const_iterator at) {
    return std::pair(std::int64_t{at[1].key} - at->key, std::int64_t{at[1].time} - at->time);
  };
  const auto fits = [](std::int64_t value) { return value == static_cast<std::int16_t>(value); };
  auto last = first;
  while (last + 1 != end && step(last) == step(first)) ++last;
  if (last - first < 2 || !fits(step(first).first) || !fits(step(first).second)) {
    words.insert(words.end(), {first->key, first->time});
    return first + 1;
  }
  const auto [keys, times] = step(first);
  words.insert(words.end(), {first->key, first->time | kRun, static_cast<std::uint32_t>(last - first),
                             static_cast<std::uint32_t>(keys) << 16 | static_cast<std::uint16_t>(times)});
  return last + 1;
}

/// False when `words` make no sense.
bool decode_runs(KnownList& list, std::span<const std::uint32_t> words) {
  while (!words.empty()) {
    const bool run = words.size() >= 2 && (words[1] & kRun) != 0;
    if (words.size() < (run ? 4u : 2u)) return false;
    Known known{words[0], words[1] & ~kRun};
    list.push_back(known);
    if (run) {
      if (words[2] > kMostKnown - std::min<std::size_t>(list.size(), kMostKnown)) return false;
      const std::uint32_t keys = words[3] >> 16;
      const auto times = static_cast<std::int16_t>(words[3]);
      for (std::uint32_t i = 0; i < words[2]; ++i) {
        known.key += keys;
        known.time += static_cast<std::uint32_t>(times);
        list.push_back(known);
      }
    }
    words = words.subspan(run ? 4 : 2);
  }
  return true;
}

}  // namespace

std::uint32_t time_of(const KnownList& list, std::uint32_t key) {
  const auto found = position(list, key);
  return found != list.end() && found->key == key ? found->time : 0;
}

void raise(KnownList& list, std::uint32_t key, std::uint32_t time) {
  const auto found = position(list, key);
  if (found == list.end() || found->key != key)
    list.insert(found, {key, time});
  else
    list[static_cast<std::size_t>(found - list.begin())].time = std::max(found->time, time);
}

void join(KnownList& list, const KnownList& other) {
  if (other.empty()) return;
  KnownList merged;
  merged.reserve(list.size() + other.size());
  auto a = list.begin();
  auto b = other.begin();
  while (a != list.end() || b != other.end()) {
    if (b == other.end() || (a != list.end() && a->key < b->key))
      merged.push_back(*a++);
    else if (a == list.end() || b->key < a->key)
      merged.push_back(*b++);
    else
      merged.push_back({a->key, std::max(a++->time, b++->time)});
  }
  list = std::move(merged);
}

bool Clock::knows(Stamp stamp) const {
  return knows_warp(stamp) || stamp.time() <= time_of(threads, stamp.thread());
}

bool Clock::knows_warp(Stamp stamp) const {
  const Thread thread = stamp.thread();
  const std::uint32_t block = block_of(thread), agent = agent_of(thread);
  const auto interval = std::upper_bound(ended.begin(), ended.end(), block,
                                         [](std::uint32_t at, const Interval& i) { return at < i.end; });
  if (interval != ended.end() && interval->first <= block) return true;
  const std::uint32_t time = stamp.time();
  return (agent < kWarps && time <= time_of(blocks, block)) ||
         time <= time_of(warps, block * kAgents + agent);
}

void Clock::join(const Clock& other) {
  if (!other.ended.empty() && other.ended != ended) ended = united(ended, other.ended);
  check::join(blocks, other.blocks);
  check::join(warps, other.warps);
  check::join(threads, other.threads);
}

void Clock::add_ended(std::uint32_t first, std::uint32_t end) {
  if (first < end) ended = united(ended, {{first, end}});
}

// Intervals in two words each; of the lists, in as many words as stand before them, runs.
std::vector<std::uint32_t> Clock::encode() const {
  std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(2 * ended.size()), 0, 0, 0};
  for (const Interval& each : ended) words.insert(words.end(), {each.first, each.end});
  std::size_t which = 1;
  for (const KnownList* list : {&blocks, &warps, &threads}) {
    const std::size_t before = words.size();
    for (auto at = list->begin(); at != list->end();) at = encode_run(words, at, list->end());
    words[which++] = static_cast<std::uint32_t>(words.size() - before);
  }
  return words;
}

Clock Clock::decode(std::span<const std::uint32_t> words) {
  Clock clock;
  if (words.size() < 4) return {};
  std::array<std::uint64_t, 4> counts{};
  std::copy_n(words.begin(), 4, counts.begin());
  if (words.size() != 4 + std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) || counts[0] % 2 != 0) return {};
  words = words.subspan(4);
  for (std::size_t i = 0; i < counts[0]; i += 2) clock.ended.push_back({words[i], words[i + 1]});
  words = words.subspan(counts[0]);
  std::size_t which = 1;
  for (KnownList* list : {&clock.blocks, &clock.warps, &clock.threads}) {
    if (!decode_runs(*list, words.first(counts[which]))) return {};
    words = words.subspan(counts[which++]);
  }
  return clock;
}

const ClockPtr& empty_clock() {
  static const ClockPtr empty = std::make_shared<Clock>();
  return empty;
}

ClockPtr joined(const ClockPtr& a, const ClockPtr& b) {
  if (a == b || b == empty_clock()) return a;
  if (a == empty_clock()) return b;
  auto both = std::make_shared<Clock>(*a);
  both->join(*b);
  if (*both == *a) return a;
  return both;
}

}  // namespace pkb::virtual_gpu::check
