// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "harness/virtual_gpu/check/checker.h"
#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {

struct Stream;
using StreamPtr = std::shared_ptr<Stream>;

/// A place in a stream: reached when all that was submitted before it is done.
struct Point {
  StreamPtr stream;
  std::uint64_t sequence = 0;
};

/// Work of the device itself, such as a copy. Empty: only marks a place.
struct DeviceWork {
  std::function<void()> run;
  std::string name = {};  ///< "a copy by the host"
  /// The device memory it accesses, known at the latest when it has run.
  std::shared_ptr<const std::vector<check::Checker::Touch>> touches = {};
};
/// A function of the application. It may block, so it has a thread of its own.
struct HostCall {
  std::function<void(bool failed)> run;  ///< `failed`: an earlier fault ended all work
};
using Work = std::variant<Launch, DeviceWork, HostCall>;

/// Work in order. Belongs to the engine, which guards it with its mutex; others hold it as a handle.
struct Stream {
  enum class Kind : std::uint8_t {
    legacy,        ///< waits for all blocking streams, and they for it
    blocking,
    non_blocking,  ///< independent of the legacy stream
  };
  struct Item {
    Work work;
    std::vector<Point> after;
    bool started = false;
    check::ClockPtr clock = check::empty_clock();  ///< what it knows: first when submitted, then when started, then when done
    bool ended = false;
    bool lets_next_start = false;  ///< a kernel whose blocks have all let programmatic launches start
  };

  Kind kind = Kind::blocking;
  std::deque<Item> items;
  std::uint64_t submitted = 0, done = 0;
  /// What is known behind the item of that number; of the last one up to it where that has none.
  std::map<std::uint64_t, check::ClockPtr> clocks;
  std::shared_ptr<check::Grid> last_grid;  ///< of the last kernel that started, and its number
  std::uint64_t last_grid_at = 0;
  check::ClockPtr clock_at(std::uint64_t sequence) const {
    const auto after = clocks.upper_bound(sequence);
    return after == clocks.begin() ? check::empty_clock() : std::prev(after)->second;
  }
};

}  // namespace pkb::virtual_gpu
