// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>

#include "harness/error/error.h"
#include "harness/judge/bench.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {
namespace {

constexpr int kWarmUps = 5, kIterations = 30;

HostTensors to_host(const ref::Tensors& tensors) {
  HostTensors all;
  for (const auto& [name, tensor] : tensors) all[name] = tensor.bytes();
  return all;
}

void check_cuda(cudaError_t error, const char* call) {
  if (error != cudaSuccess)
    throw EnvironmentError({.where = call, .fault = cudaGetErrorString(error), .remedy = {}});
}

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&x_event), "cudaEventCreate"); }
  ~Event() { cudaEventDestroy(x_event); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return x_event; }

 private:
  cudaEvent_t x_event = nullptr;
};

/// Milliseconds of each iteration, of the slowest rank.
std::vector<float> time_on_gpu(Oracle& oracle, const ref::Tensors& inputs, MPI_Comm comm) {
  const Event begin, end;
  std::vector<float> samples;
  for (int i = 0; i < kWarmUps + kIterations; ++i) {
    oracle.context().synchronize();
    MPI_Barrier(comm);
    check_cuda(cudaEventRecord(begin.get(), oracle.context().stream()), "cudaEventRecord");
    oracle.baseline(inputs);
    check_cuda(cudaEventRecord(end.get(), oracle.context().stream()), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end.get()), "cudaEventSynchronize");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
    MPI_Allreduce(MPI_IN_PLACE, &milliseconds, 1, MPI_FLOAT, MPI_MAX, comm);
    if (i >= kWarmUps) samples.push_back(milliseconds);
  }
  return samples;
}

nlohmann::json summary_of(std::vector<float> samples) {
  nlohmann::json summary = {{"samples_ms", samples}};
  std::ranges::nth_element(samples, samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2));
  summary["median_ms"] = samples[samples.size() / 2];
  return summary;
}

}  // namespace

Findings check_baseline(Bench& bench) {
  Findings findings;
  std::size_t current = ~std::size_t{0};
  std::unique_ptr<Oracle> oracle;
  ref::Tensors inputs;
  for (int trial = 0; trial < bench.job().trials; ++trial) {
    bench.announce(fmt::format("trial {} of {}", trial + 1, bench.job().trials));
    if (const std::size_t variant = bench.variant_of(trial); variant != current) {
      current = variant;
      oracle = bench.oracle(variant);
    }
    bench.clock().enter("inputs");
    inputs = oracle->inputs(trial);
    const HostTensors before = to_host(inputs);
    bench.clock().enter("reference");
    const Expected expected = oracle->expect(inputs);
    bench.clock().enter("check");
    HostTensors now = to_host(inputs);
    now.merge(to_host(expected.baseline));
    TrialResult result = check_trial(*oracle, trial, expected, before, now, bench.comm());
    for (Diagnosis& each : result.diagnoses) findings.diagnoses.push_back(std::move(each));
    findings.trials.push_back({{"trial", trial},
                               {"variant", current},
                               {"schedule", 0},
                               {"passes", result.passes},
                               {"outputs", result.outputs()}});
  }
  if (bench.job().device == launch::Device::cuda) {
    bench.clock().enter("time");
    findings.facts["timing"] = summary_of(time_on_gpu(*oracle, inputs, bench.comm()));
  }
  return findings;
}

}  // namespace pkb::judge
