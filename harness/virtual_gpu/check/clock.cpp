// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/clock.h"

#include <algorithm>

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
  const Thread thread = stamp.thread();
  const std::uint32_t block = block_of(thread), agent = agent_of(thread);
  const auto interval = std::upper_bound(ended.begin(), ended.end(), block,
                                         [](std::uint32_t at, const Interval& i) { return at < i.end; });
  if (interval != ended.end() && interval->first <= block) return true;
  const std::uint32_t time = stamp.time();
  return (agent < kWarps && time <= time_of(blocks, block)) ||
         time <= time_of(warps, block * kAgents + agent) || time <= time_of(threads, thread);
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

std::vector<std::uint32_t> Clock::encode() const {
  std::vector<std::uint32_t> words = {
      static_cast<std::uint32_t>(ended.size()), static_cast<std::uint32_t>(blocks.size()),
      static_cast<std::uint32_t>(warps.size()), static_cast<std::uint32_t>(threads.size())};
  for (const Interval& each : ended) words.insert(words.end(), {each.first, each.end});
  for (const KnownList* list : {&blocks, &warps, &threads})
    for (const Known& each : *list) words.insert(words.end(), {each.key, each.time});
  return words;
}

Clock Clock::decode(std::span<const std::uint32_t> words) {
  Clock clock;
  if (words.size() < 4) return clock;
  std::uint64_t pairs = 0;
  for (std::size_t i = 0; i < 4; ++i) pairs += words[i];
  if (words.size() != 4 + 2 * pairs) return clock;
  const std::uint32_t* at = words.data() + 4;
  for (std::uint32_t i = 0; i < words[0]; ++i, at += 2) clock.ended.push_back({at[0], at[1]});
  std::size_t which = 1;
  for (KnownList* list : {&clock.blocks, &clock.warps, &clock.threads}) {
    for (std::uint32_t i = 0; i < words[which]; ++i, at += 2) list->push_back({at[0], at[1]});
    ++which;
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
