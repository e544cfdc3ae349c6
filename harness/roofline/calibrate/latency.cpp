// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/latency.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

#include "harness/roofline/calibrate/cuda_check.h"
#include "harness/roofline/calibrate/latency_kernels.h"
#include "harness/roofline/calibrate/spread.h"

namespace pkb::roofline {
namespace {

constexpr int kRounds = 2000, kSamples = 11, kSeatsOnOneGpu = 8;

using Kernel = cudaError_t (*)(const Seats&, const SeatLaunch&, cudaStream_t);

/// Seats on the given GPUs, one each; seats on the same GPU are in one launch.
class Table {
 public:
  explicit Table(std::vector<int> gpu_of) : x_gpu_of(std::move(gpu_of)) {
    x_seats.count = static_cast<int>(x_gpu_of.size());
    for (std::size_t seat = 0; seat < x_gpu_of.size(); ++seat) {
      check(cudaSetDevice(x_gpu_of[seat]), "cudaSetDevice");
      check(cudaMalloc(&x_seats.flag_of[seat], sizeof(unsigned)), "cudaMalloc");
    }
    check(cudaMallocHost(&x_seats.lost, sizeof(unsigned)), "cudaMallocHost");
    *x_seats.lost = 0;
  }
  ~Table() {
    for (unsigned* flag : x_seats.flag_of) cudaFree(flag);
    cudaFreeHost(x_seats.lost);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /// Microseconds of a round.
  Spread measure(Kernel kernel) const {
    run(kernel);
    std::vector<double> samples;
    for (int sample = 0; sample < kSamples; ++sample) samples.push_back(run(kernel));
    return spread_of(std::move(samples));
  }

 private:
  double run(Kernel kernel) const {
    for (std::size_t seat = 0; seat < x_gpu_of.size(); ++seat)
      check(cudaMemset(x_seats.flag_of[seat], 0, sizeof(unsigned)), "cudaMemset");
    synchronize();
    check(cudaSetDevice(x_gpu_of.front()), "cudaSetDevice");
    cudaEvent_t start{}, end{};
    check(cudaEventCreate(&start), "cudaEventCreate");
    check(cudaEventCreate(&end), "cudaEventCreate");
    check(cudaEventRecord(start), "cudaEventRecord");
    for (int first = 0; first < x_seats.count;) {
      const int gpu = x_gpu_of[static_cast<std::size_t>(first)];
      int last = first;
      while (last < x_seats.count && x_gpu_of[static_cast<std::size_t>(last)] == gpu) ++last;
      check(cudaSetDevice(gpu), "cudaSetDevice");
      check(kernel(x_seats, {.first = first, .count = last - first, .rounds = kRounds}, nullptr), "a latency kernel");
      if (first == 0) check(cudaEventRecord(end), "cudaEventRecord");
      first = last;
    }
    synchronize();
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, start, end), "cudaEventElapsedTime");
    check(cudaEventDestroy(start), "cudaEventDestroy");
    check(cudaEventDestroy(end), "cudaEventDestroy");
    if (*x_seats.lost != 0)
      throw EnvironmentError({.where = "latency",
                              .fault = "a flag did not arrive within 5 s",
                              .remedy = "see that no other program occupies the GPUs"});
    return milliseconds * 1e3 / kRounds;
  }

  void synchronize() const {
    for (const int gpu : x_gpu_of) {
      check(cudaSetDevice(gpu), "cudaSetDevice");
      check(cudaDeviceSynchronize(), "a latency kernel");
    }
  }

  std::vector<int> x_gpu_of;
  Seats x_seats;
};

}  // namespace

nlohmann::json measure_latency(int gpus) {
  std::vector<int> all(static_cast<std::size_t>(gpus > 1 ? std::min(gpus, kMostSeats) : kSeatsOnOneGpu));
  if (gpus > 1) std::iota(all.begin(), all.end(), 0);
  nlohmann::json measured = {
      {"flag_round_trip_us", to_json(Table({all[0], all[1]}).measure(ping_pong))},
      {"barrier_us", to_json(Table(all).measure(barriers))},
  };
  measured["barrier_us"]["participants"] = all.size();
  return measured;
}

}  // namespace pkb::roofline
