// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/check/view.h"

#include <algorithm>

namespace pkb::virtual_gpu::check {

void View::join(const View& other) {
  outside = joined(outside, other.outside);
  for (std::size_t i = 0; i < kAgents; ++i) known[i] = std::max(known[i], other.known[i]);
  check::join(threads, other.threads);
  for (std::size_t i = 0; i < kScopes; ++i)
    if (other.fenced[i]) fenced[i] = fenced[i] ? joined(fenced[i], other.fenced[i]) : other.fenced[i];
  for (const RecordPtr& each : other.observed)
    if (!observes(each)) observed.push_back(each);
}

void View::join(const ClockPtr& clock, std::uint32_t block) {
  outside = joined(outside, clock);
  const std::uint32_t all = time_of(clock->blocks, block);
  for (std::size_t i = 0; i < kWarps; ++i) known[i] = std::max(known[i], all);
  for (const Known& each : clock->warps)
    if (each.key / kAgents == block) known[each.key % kAgents] = std::max(known[each.key % kAgents], each.time);
  for (const Known& each : clock->threads)
    if (block_of(each.key) == block) raise(threads, each.key & 0x7ff, each.time);
}

void View::join(const ClockPtr& clock, Thread thread, std::uint32_t time, std::uint32_t block) {
  join(clock, block);
  if (time == 0) return;
  if (block_of(thread) == block) return raise(threads, thread & 0x7ff, time);
  if (time <= time_of(outside->threads, thread)) return;
  auto more = std::make_shared<Clock>(*outside);
  raise(more->threads, thread, time);
  outside = std::move(more);
}

bool View::observes(const RecordPtr& record) const {
  return std::find(observed.begin(), observed.end(), record) != observed.end();
}

}  // namespace pkb::virtual_gpu::check
