// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "harness/virtual_gpu/check/clock.h"
#include "harness/virtual_gpu/check/ledger.h"

namespace pkb::virtual_gpu::check {

/// What a reader of a strongly written word may learn from it: release patterns (PTX ISA, "Release and Acquire
/// Patterns") whose last write it is, directly or through atomic updates in between.
struct Record {
  /// `clock` happens before the write, for readers within `scope` of the releaser.
  struct Release {
    Scope scope = Scope::cta;
    Thread releaser = 0;
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
        return;
      }
    releases.push_back(release);
  }
};
using RecordPtr = std::shared_ptr<const Record>;

}  // namespace pkb::virtual_gpu::check
