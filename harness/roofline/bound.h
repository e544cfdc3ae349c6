// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "harness/problem/problem.h"
#include "harness/roofline/hardware.h"

namespace pkb::roofline {

enum class Limit : std::uint8_t { compute, memory, links };
inline constexpr std::string_view kLimitNames[] = {"compute", "memory", "links"};
constexpr std::string_view name_of(Limit limit) { return kLimitNames[static_cast<std::size_t>(limit)]; }

/// Seconds that each part of a machine needs for its share, were it the only one.
struct Times {
  double compute = 0, memory = 0, links = 0;

  double longest() const;
  Limit limit() const;  ///< which is the longest; the first of equals
};

/// How fast a problem can be on given hardware. All parts work at once, so the longest decides.
struct Bound {
  problem::Cost cost;

  /// What utilisation is counted from: all of `cost` at the rates of the hardware, as measured where they were. A time
  /// below it is astonishing but not impossible; see `floor`.
  Times roofline;

  /// What no run can beat, so that a shorter time is wrong. It uses nominal rates and leaves out what a kernel may
  /// get around:
  /// - compute: the operations at the chip's fastest format and at clocks a quarter above those of the vendor's
  ///   figures (a short run may be clocked higher, and a product may be split into faster formats or multiplied by
  ///   Strassen's method);
  /// - memory: what outputs may leave in the L2 cache needs not be written yet. Inputs must come from memory, since
  ///   whoever times flushes the cache before every run;
  /// - links: half the bytes, since normally distributed values compress without loss, those in bf16 to two thirds.
  ///   `cost` itself holds for fabrics that reduce and multicast.
  /// It assumes inputs that a kernel cannot know: timed runs draw them anew, and not as small integers.
  Times floor;
};

Bound bound_of(const problem::Problem& problem, const problem::Instance& instance, const Hardware& hardware);

}  // namespace pkb::roofline
