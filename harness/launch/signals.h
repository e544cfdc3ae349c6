// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace pkb::launch {

/// While it lives, SIGINT, SIGTERM and SIGHUP end nothing but are noted here. One at a time in a process.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// The first that arrived; 0 when none has.
  static int received();

 private:
  struct sigaction x_before[3];
};

}  // namespace pkb::launch
