// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/stopwatch.h"

#include <algorithm>

#include "harness/roofline/calibrate/cuda_check.h"

namespace pkb::roofline {

Stopwatch::Stopwatch(int gpu) : x_gpu(gpu) {
  check(cudaSetDevice(gpu), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&x_stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreate(&x_start), "cudaEventCreate");
  check(cudaEventCreate(&x_end), "cudaEventCreate");
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(x_start);
  cudaEventDestroy(x_end);
  cudaStreamDestroy(x_stream);
}

double Stopwatch::seconds(const std::function<void(cudaStream_t)>& enqueue, int calls) const {
  check(cudaEventRecord(x_start, x_stream), "cudaEventRecord");
  for (int call = 0; call < calls; ++call) enqueue(x_stream);
  check(cudaEventRecord(x_end, x_stream), "cudaEventRecord");
  check(cudaEventSynchronize(x_end), "the measured work");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, x_start, x_end), "cudaEventElapsedTime");
  return milliseconds * 1e-3 / calls;
}

Spread Stopwatch::operator()(const std::function<void(cudaStream_t)>& enqueue, int samples) const {
  constexpr int kMostCalls = 1000;  // more would fill the queue of launches
  check(cudaSetDevice(x_gpu), "cudaSetDevice");
  seconds(enqueue, 1);
  const double once = seconds(enqueue, 3);
  const int calls = std::clamp(static_cast<int>(kSample / std::max(once, 1e-9)), 1, kMostCalls);
  seconds(enqueue, calls);
  std::vector<double> all;
  for (int sample = 0; sample < samples; ++sample) all.push_back(seconds(enqueue, calls));
  return spread_of(std::move(all));
}

}  // namespace pkb::roofline
