// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "harness/virtual_gpu/check/clock.h"
#include "harness/virtual_gpu/check/ledger.h"

namespace pkb::virtual_gpu::check {

/// What a reader of a strongly written word may learn from it: release patterns (PTX ISA, "Release and Acquire
/// Patterns") whose last write it is, directly or through atomic updates in between.
struct Record {
  /// `clock` happens before the write, for readers within `scope` of the releaser, and so do the releaser's own
  /// accesses up to `time`.
  struct Release {
    Scope scope = Scope::cta;
    Thread releaser = 0;
    std::uint32_t time = 0;
    ClockPtr clock;
  };
  Thread writer = 0;
  Scope scope = Scope::cta;  ///< of the write itself
  PlaceId place = 0;
  std::vector<Release> releases;

  /// Joins it to one that the same readers may learn of.
  void add(const Release& release) {
    for (Release& each : releases)
      if (each.scope == release.scope &&
          includes(each.scope, block_of(each.releaser), block_of(release.releaser))) {
        each.clock = joined(each.clock, release.clock);
        if (each.releaser == release.releaser) {
          each.time = std::max(each.time, release.time);
        } else if (release.time != 0) {
          auto both = std::make_shared<Clock>(*each.clock);
          raise(both->threads, release.releaser, release.time);
          each.clock = std::move(both);
        }
        return;
      }
    releases.push_back(release);
  }
};
using RecordPtr = std::shared_ptr<const Record>;

}  // namespace pkb::virtual_gpu::check
