// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/referee.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pkb::timing {
namespace {

using namespace std::chrono_literals;

/// Work that waits for its own results has not been enqueued when it needs the gate to open.
constexpr auto kEnqueueing = 20ms;

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

}  // namespace

void Referee::begin(std::uint32_t iteration) {
  finish();
  x_times = {};
  x_thread = std::jthread([this, iteration](const std::stop_token& stop) { watch(stop, iteration); });
}

Referee::Times Referee::finish() {
  if (x_thread.joinable()) {
    // What the GPU reported before its process answered must be seen, however late this thread came to run.
    x_thread.request_stop();
    x_thread.join();
  }
  return x_times;
}

void Referee::watch(const std::stop_token& stop, std::uint32_t iteration) {
  if (x_rank == 0) {
    const auto patience = Clock::now() + kEnqueueing;
    x_times.enqueued = true;
    for (int rank = 0; rank < x_ranks; ++rank)
      x_times.enqueued &= wait_for(x_line.lanes[rank].enqueued, iteration, stop, patience);
    x_line.inputs_may_come.value.store(iteration, std::memory_order_release);
    for (int rank = 0; rank < x_ranks; ++rank)
      if (!wait_for(x_line.lanes[rank].ready, iteration, stop)) return;
    x_times.go = Clock::now();
    x_line.go.value.store(iteration, std::memory_order_release);
  }
  if (wait_for(x_line.lanes[x_rank].done, iteration, stop)) x_times.done = Clock::now();
}

bool Referee::wait_for(const Word& word, std::uint32_t iteration, const std::stop_token& stop,
                       Clock::time_point until) const {
  for (;;) {
    const bool last_look = stop.stop_requested() || Clock::now() >= until;
    if (word.value.load(std::memory_order_acquire) >= iteration) return true;
    if (last_look) return false;
    relax();
  }
}

}  // namespace pkb::timing
