// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <string>

namespace pkb::judge {

/// Where the time goes: each moment belongs to the phase that was entered last.
class PhaseClock {
 public:
  using Clock = std::chrono::steady_clock;

  void enter(const std::string& phase) {
    const auto now = Clock::now();
    if (!x_phase.empty())
      x_milliseconds[x_phase] += std::chrono::duration<double, std::milli>(now - x_since).count();
    x_phase = phase;
    x_since = now;
  }
  /// Time that was taken elsewhere.
  void add(const std::string& phase, double milliseconds) { x_milliseconds[phase] += milliseconds; }
  /// Milliseconds by phase, up to now.
  const std::map<std::string, double>& milliseconds() {
    enter(x_phase);
    return x_milliseconds;
  }

 private:
  std::string x_phase;
  Clock::time_point x_since;
  std::map<std::string, double> x_milliseconds;
};

}  // namespace pkb::judge
