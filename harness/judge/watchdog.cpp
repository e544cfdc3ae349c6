// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sstream>

#include "harness/judge/agreement.h"
#include "harness/process/captured_output.h"

namespace pkb::judge {
namespace {

template <class T>
T load(const std::byte* from) {
  T value{};
  __atomic_load(reinterpret_cast<const T*>(from), &value, __ATOMIC_ACQUIRE);
  return value;
}

constexpr std::size_t kLongestWaits = 1500;

/// The lines of a status page within one sentence.
std::string in_one_line(std::string lines) {
  while (lines.ends_with('\n')) lines.pop_back();
  if (lines.size() > kLongestWaits) lines = lines.substr(0, kLongestWaits) + "...";
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; ++at) lines.replace(at, 1, "; ");
  return lines;
}

}  // namespace

std::string describe_ranks(const std::vector<Standing>& ranks) {
  std::vector<std::pair<std::string, std::vector<int>>> waits;
  std::vector<int> ended, idle, absent;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int rank = static_cast<int>(i);
    if (ranks[i].answered) {
      (ranks[i].launches > 0 ? ended : idle).push_back(rank);
    } else if (ranks[i].waits.empty()) {
      absent.push_back(rank);
    } else {
      const auto same =
          std::ranges::find(waits, ranks[i].waits, &std::pair<std::string, std::vector<int>>::first);
      if (same == waits.end())
        waits.push_back({ranks[i].waits, {rank}});
      else
        same->second.push_back(rank);
    }
  }
  std::vector<std::string> sentences;
  for (const auto& [what, who] : waits)
    sentences.push_back(fmt::format("{}: {}", list_ranks(who), in_one_line(what)));
  if (!ended.empty()) sentences.push_back(fmt::format("The kernels of {} have ended", list_ranks(ended)));
  const auto several = [](const std::vector<int>& who) { return who.size() == 1 ? "has" : "have"; };
  if (!idle.empty())
    sentences.push_back(fmt::format("R{} {} launched no kernel", list_ranks(idle).substr(1), several(idle)));
  if (!absent.empty())
    sentences.push_back(fmt::format("R{} {} not returned", list_ranks(absent).substr(1), several(absent)));
  return fmt::format("{}", fmt::join(sentences, ". "));
}

namespace {

/// A NUL-terminated text that another process may be writing.
template <std::size_t size>
std::string printable_text(const std::byte* from) {
  char text[size];
  std::memcpy(text, from, size);
  process::CapturedOutput printable(2 * size);
  printable.append({text, ::strnlen(text, size)});
  return printable.text();
}

}  // namespace

DeviceState StatusPages::read(int rank) const {
  using virtual_gpu::Status;
  const std::byte* const page = x_pages.at(static_cast<std::size_t>(rank)).data();
  DeviceState state{.progress = load<std::uint64_t>(page + offsetof(Status, progress)),
                    .looks = load<std::uint64_t>(page + offsetof(Status, looks)),
                    .launches = load<std::uint32_t>(page + offsetof(Status, launches)),
                    .polling = load<std::uint32_t>(page + offsetof(Status, polling)) != 0 &&
                               load<std::uint32_t>(page + offsetof(Status, host_waits)) != 0,
                    .waits = {}};
  if (state.polling) state.waits = printable_text<sizeof(Status::waits)>(page + offsetof(Status, waits));
  return state;
}

void StatusPages::publish_kept_from_processor(int rank, std::chrono::nanoseconds time) const {
  std::byte* const at =
      x_pages.at(static_cast<std::size_t>(rank)).data() + offsetof(virtual_gpu::Status, kept_from_processor);
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(at)).store(static_cast<std::uint64_t>(time.count()));
}

std::chrono::nanoseconds StatusPages::kept_from_processor() const {
  std::uint64_t longest = 0;
  for (const device::Segment& page : x_pages)
    longest = std::max(longest,
                       load<std::uint64_t>(page.data() + offsetof(virtual_gpu::Status, kept_from_processor)));
  return std::chrono::nanoseconds(std::min<std::uint64_t>(longest, INT64_MAX));
}

bool is_overdue(std::chrono::nanoseconds elapsed, std::chrono::nanoseconds kept_from_processor,
                std::chrono::milliseconds deadline) {
  return elapsed - kept_from_processor >= deadline || elapsed >= 10 * deadline;
}

std::vector<std::string> StatusPages::races(int rank) const {
  using virtual_gpu::Status;
  const std::byte* const page = x_pages.at(static_cast<std::size_t>(rank)).data();
  std::istringstream text(printable_text<sizeof(Status::races)>(page + offsetof(Status, races)));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

bool DeadlockWatch::is_deadlocked(Clock::time_point now, const std::vector<Rank>& ranks) {
  std::vector<std::uint64_t> progress, looks;
  bool all_wait = true, any_polls = false;
  for (const Rank& rank : ranks) {
    progress.push_back(rank.device.progress);
    looks.push_back(rank.device.looks);
    all_wait &= rank.waits_for_others || rank.device.polling;
    any_polls |= !rank.waits_for_others;
  }
  const bool moved = progress != x_progress;
  x_progress = std::move(progress);
  if (moved || !all_wait || !any_polls) {
    x_quiet_since.reset();
    return false;
  }
  if (!x_quiet_since) {
    x_quiet_since = now;
    x_looks = looks;
  }
  // A whole look lies between the beginnings of two.
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (!ranks[i].waits_for_others && looks[i] < x_looks[i] + 2) return false;
  return now - *x_quiet_since >= kQuiet;
}

}  // namespace pkb::judge
