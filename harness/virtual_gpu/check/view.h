// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "harness/virtual_gpu/check/record.h"

namespace pkb::virtual_gpu::check {

/// What some threads of a block know: everything that happens before what they do next. Lanes that
/// synchronised together share one.
struct View {
  ClockPtr outside = empty_clock();             ///< of other blocks
  std::array<std::uint32_t, kAgents> known{};   ///< of this block: all lanes of an agent, up to this moment
  KnownList threads;                            ///< of this block: single lanes, by agent << 5 | lane
  /// What a fence of each scope has covered, for the strong writes that follow it.
  std::array<ClockPtr, kScopes> fenced{};
  /// Read by relaxed loads, waiting for a fence to make use of them.
  std::vector<RecordPtr> observed;

  void join(const View& other);
  void join(const ClockPtr& clock, std::uint32_t block);
  /// The same with what `thread` itself did up to `time`.
  void join(const ClockPtr& clock, Thread thread, std::uint32_t time, std::uint32_t block);
  bool observes(const RecordPtr& record) const;
};
using ViewPtr = std::shared_ptr<const View>;

}  // namespace pkb::virtual_gpu::check
