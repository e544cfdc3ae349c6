// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/memory.h"
#include "harness/virtual_gpu/virtual_gpu.h"

namespace pkb::judge {

/// What a virtual GPU's status page says.
struct DeviceState {
  std::uint64_t progress = 0;
  std::uint64_t looks = 0;     ///< at all that it waits for, begun so far
  std::uint32_t launches = 0;  ///< kernels started so far
  bool polling = false;        ///< and its program waits for the device
  std::string waits;           ///< printable
};

/// Where a rank stands when the ranks wait for each other without end.
struct Standing {
  bool answered = false;
  std::uint32_t launches = 0;  ///< kernels since the phase began
  std::string waits;           ///< lines, as in DeviceState
};
/// "ranks 0, 2: kernel k, ...: 1 thread waits ... The kernels of rank 1 have ended. Rank 3 has launched no
/// kernel"
std::string describe_ranks(const std::vector<Standing>& ranks);

/// Whether a phase has had its time, not counting that for which a worker was kept from the processor: a
/// loaded machine must not fail a candidate. Ten times the deadline is the end in any case, since workers can
/// write what is counted.
bool is_overdue(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds kept_from_processor,
                std::chrono::milliseconds deadline);

/// The status pages of all ranks' virtual GPUs. The workers may write anything there.
class StatusPages {
 public:
  StatusPages() = default;
  /// `pages` are segments of a virtual device, by rank.
  explicit StatusPages(std::vector<device::Segment> pages) : x_pages(std::move(pages)) {}
  bool empty() const { return x_pages.empty(); }
  DeviceState read(int rank) const;
  void publish_kept_from_processor(int rank, std::chrono::nanoseconds time) const;
  /// The longest of all ranks.
  std::chrono::nanoseconds kept_from_processor() const;
  /// What the rank has found in the run that it has not ended, printable.
  std::vector<std::string> races(int rank) const;

 private:
  std::vector<device::Segment> x_pages;
};

/// Finds out early that the ranks wait for each other without end.
class DeadlockWatch {
 public:
  using Clock = std::chrono::steady_clock;
  struct Rank {
    bool waits_for_others = false;  ///< it has answered or waits in a collective call
    DeviceState device;
  };

  /// True once every rank that should still do something has only polled, and no device of any rank has made
  /// progress, for `kQuiet`, and each has looked since at all that it waits for. A process that was merely
  /// not scheduled has not.
  bool is_deadlocked(Clock::time_point now, const std::vector<Rank>& ranks);

  static constexpr auto kQuiet = std::chrono::milliseconds(1000);

 private:
  std::vector<std::uint64_t> x_progress;
  std::vector<std::uint64_t> x_looks;  ///< when the quiet began
  std::optional<Clock::time_point> x_quiet_since;
};

}  // namespace pkb::judge
