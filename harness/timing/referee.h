// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

#include "harness/timing/start_line.h"

namespace pkb::timing {

/// A judge at the start line. Rank 0's opens the gates; each takes the time of its rank by its own clock, which is the
/// same on all ranks of a node.
class Referee {
 public:
  using Clock = std::chrono::steady_clock;

  Referee(StartLine& line, int rank, int ranks) : x_line(line), x_rank(rank), x_ranks(ranks) {}
  ~Referee() { finish(); }
  Referee(const Referee&) = delete;
  Referee& operator=(const Referee&) = delete;

  /// Watches an iteration until `finish`. The words of the line are what the processes make them: nothing here waits
  /// for one that does not come, once `finish` is called.
  void begin(std::uint32_t iteration);

  struct Times {
    // Of rank 0 alone.
    Clock::time_point go;
    bool enqueued = false;  ///< by all ranks before the gates opened

    Clock::time_point done;  ///< the epoch when nobody reported
  };
  /// After the rank's process has answered, or has died.
  Times finish();

 private:
  void watch(const std::stop_token& stop, std::uint32_t iteration);
  /// False when it was told to stop first.
  bool wait_for(const Word& word, std::uint32_t iteration, const std::stop_token& stop,
                Clock::time_point until = Clock::time_point::max()) const;

  StartLine& x_line;
  int x_rank, x_ranks;
  Times x_times;
  std::jthread x_thread;
};

}  // namespace pkb::timing
