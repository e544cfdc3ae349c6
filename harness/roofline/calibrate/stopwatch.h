// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "harness/roofline/calibrate/spread.h"

namespace pkb::roofline {

/// Times what one GPU does in one stream.
class Stopwatch {
 public:
  explicit Stopwatch(int gpu);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  /// Seconds of one call of `enqueue`, from samples of as many calls in a row as fill `kSample`, after one sample that
  /// is not counted. Short work is thereby timed as it is issued back to back. @throws EnvironmentError
  Spread operator()(const std::function<void(cudaStream_t)>& enqueue, int samples = 11) const;

  static constexpr double kSample = 2e-3;

 private:
  double seconds(const std::function<void(cudaStream_t)>& enqueue, int calls) const;

  int x_gpu;
  cudaStream_t x_stream{};
  cudaEvent_t x_start{}, x_end{};
};

}  // namespace pkb::roofline
