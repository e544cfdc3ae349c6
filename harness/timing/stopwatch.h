// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "harness/timing/lap.h"
#include "harness/timing/start_line.h"

namespace pkb::timing {

/// Fresh inputs: lie ready somewhere, belong somewhere else.
struct Delivery {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

/// Times work on the current GPU. The work is enqueued behind a gate which the referee opens for all ranks at once, so
/// neither the time to enqueue it nor a rank that is late counts. Its inputs are delivered behind a gate too: whatever
/// runs before its turn, on a stream that does not wait for the stopwatch's, works on old inputs.
class Stopwatch {
 public:
  /// `line` outlives the stopwatch and is page-aligned. @throws EnvironmentError
  Stopwatch(StartLine& line, int lane);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Returns when the device is idle; nothing when it failed, which its last error tells. `work` enqueues on `stream`;
  /// what it throws is thrown again once the gates are behind it.
  std::optional<Lap> time(std::uint32_t iteration, const Delivery& inputs, cudaStream_t stream,
                          const std::function<void()>& work);

 private:
  StartLine& x_line;
  StartLine* x_line_on_device = nullptr;
  int x_lane;
  std::size_t x_flush_bytes = 0;
  void* x_flush = nullptr;
  cudaEvent_t x_begin = nullptr, x_end = nullptr;
};

}  // namespace pkb::timing
