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

Stopwatch::Graph Stopwatch::capture(const std::function<void(cudaStream_t)>& enqueue, int calls) const {
  check(cudaStreamBeginCapture(x_stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  for (int call = 0; call < calls; ++call) enqueue(x_stream);
  cudaGraph_t graph{};
  check(cudaStreamEndCapture(x_stream, &graph), "cudaStreamEndCapture");
  cudaGraphExec_t ready{};
  const cudaError_t error = cudaGraphInstantiate(&ready, graph, 0);
  cudaGraphDestroy(graph);
  check(error, "cudaGraphInstantiate");
  return {ready, [](cudaGraphExec_t each) { cudaGraphExecDestroy(each); }};
}

double Stopwatch::seconds(const Graph& graph) const {
  check(cudaEventRecord(x_start, x_stream), "cudaEventRecord");
  check(cudaGraphLaunch(graph.get(), x_stream), "cudaGraphLaunch");
  check(cudaEventRecord(x_end, x_stream), "cudaEventRecord");
  check(cudaEventSynchronize(x_end), "the measured work");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, x_start, x_end), "cudaEventElapsedTime");
  return milliseconds * 1e-3;
}

Spread Stopwatch::operator()(const std::function<void(cudaStream_t)>& enqueue, int samples) const {
  constexpr int kProbe = 3, kMostCalls = 1000;
  check(cudaSetDevice(x_gpu), "cudaSetDevice");
  const Graph probe = capture(enqueue, kProbe);
  seconds(probe);
  const double once = seconds(probe) / kProbe;
  const int calls = std::clamp(static_cast<int>(kSample / std::max(once, 1e-9)), 1, kMostCalls);
  const Graph graph = capture(enqueue, calls);
  seconds(graph);
  std::vector<double> all;
  for (int sample = 0; sample < samples; ++sample) all.push_back(seconds(graph) / calls);
  return spread_of(std::move(all));
}

}  // namespace pkb::roofline
