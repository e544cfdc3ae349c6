// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/watchdog.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "harness/process/captured_output.h"

namespace pkb::judge {

DeviceState StatusPages::read(int rank) const {
  using virtual_gpu::Status;
  const std::byte* const page = x_pages.at(static_cast<std::size_t>(rank)).data();
  std::uint64_t progress = 0;
  std::uint32_t polling = 0;
  __atomic_load(reinterpret_cast<const std::uint64_t*>(page + offsetof(Status, progress)), &progress,
                __ATOMIC_ACQUIRE);
  __atomic_load(reinterpret_cast<const std::uint32_t*>(page + offsetof(Status, polling)), &polling,
                __ATOMIC_ACQUIRE);
  DeviceState state{.progress = progress, .polling = polling != 0, .waits = {}};
  if (!state.polling) return state;
  char waits[sizeof(Status::waits)];
  std::memcpy(waits, page + offsetof(Status, waits), sizeof waits);
  process::CapturedOutput printable(2 * sizeof waits);
  printable.append({waits, ::strnlen(waits, sizeof waits)});
  state.waits = printable.text();
  return state;
}

bool DeadlockWatch::is_deadlocked(Clock::time_point now, const std::vector<Rank>& ranks) {
  std::vector<std::uint64_t> progress;
  bool all_wait = true, any_polls = false;
  for (const Rank& rank : ranks) {
    progress.push_back(rank.device.progress);
    all_wait &= rank.waits_for_others || rank.device.polling;
    any_polls |= !rank.waits_for_others;
  }
  const bool moved = progress != x_progress;
  x_progress = std::move(progress);
  if (moved || !all_wait || !any_polls) {
    x_quiet_since.reset();
    return false;
  }
  if (!x_quiet_since) x_quiet_since = now;
  return now - *x_quiet_since >= kQuiet;
}

}  // namespace pkb::judge
