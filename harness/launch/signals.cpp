// SPDX-License-Identifier: Apache-2.0
#include "harness/launch/signals.h"

#include <atomic>
#include <iterator>

namespace pkb::launch {
namespace {

constexpr int kWatched[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> first_signal{0};

void note(int signal) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal);
}

}  // namespace

SignalWatch::SignalWatch() {
  first_signal = 0;
  struct sigaction action {};
  action.sa_handler = note;  // without SA_RESTART: a poll in progress ends with EINTR
  for (std::size_t i = 0; i < std::size(kWatched); ++i) {
    sigaction(kWatched[i], nullptr, &x_before[i]);
    // nohup's SIGHUP stays ignored.
    if (x_before[i].sa_handler != SIG_IGN) sigaction(kWatched[i], &action, nullptr);
  }
}

SignalWatch::~SignalWatch() {
  for (std::size_t i = 0; i < std::size(kWatched); ++i) sigaction(kWatched[i], &x_before[i], nullptr);
}

int SignalWatch::received() { return first_signal; }

}  // namespace pkb::launch
