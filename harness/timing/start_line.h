// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace pkb::timing {

/// A number of host memory that processes and GPUs of the node share; it only grows.
struct alignas(64) Word {
  std::atomic<std::uint32_t> value;
};
static_assert(sizeof(Word) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

/// Where the ranks of one node line up before every timed iteration. Iterations are numbered from 1, and each word
/// holds the last iteration that has come so far.
struct StartLine {
  static constexpr int kMostRanks = 64;

  struct Lane {
    Word enqueued;  ///< written by the rank's process: all of the iteration's work is in its stream
    Word ready;     ///< written by its GPU: the inputs are in place, the caches are flushed
    Word done;      ///< written by its GPU: the timed work is complete
  };

  Word inputs_may_come;  ///< written by the judges
  Word go;               ///< written by the judges: the timed work may start
  Lane lanes[kMostRanks];
};

}  // namespace pkb::timing
