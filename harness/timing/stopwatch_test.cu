// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/stopwatch.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>

#include "harness/timing/referee.h"

namespace pkb::timing {
namespace {

using namespace std::chrono_literals;

__global__ void spin(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
}

/// One rank on the GPU of this machine.
class StopwatchOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) GTEST_SKIP() << "no GPU";
    x_line = std::unique_ptr<StartLine, void (*)(StartLine*)>(
        new (std::aligned_alloc(4096, (sizeof(StartLine) + 4095) / 4096 * 4096)) StartLine(),
        [](StartLine* line) { std::free(line); });
    x_watch = std::make_unique<Stopwatch>(*x_line, 0);
    x_referee = std::make_unique<Referee>(*x_line, 0, 1);
    ASSERT_EQ(cudaStreamCreateWithFlags(&x_stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&x_from, kBytes), cudaSuccess);
    ASSERT_EQ(cudaMalloc(&x_to, kBytes), cudaSuccess);
  }

  struct Both {
    Lap lap;
    double outside_ms;
  };
  Both time(const std::function<void()>& work) {
    x_referee->begin(++x_iteration);
    const std::optional<Lap> lap = x_watch->time(
        x_iteration, {.to = x_to, .from = x_from, .bytes = kBytes}, x_stream, work);
    const Referee::Times times = x_referee->finish();
    EXPECT_TRUE(lap.has_value());
    return {lap.value_or(Lap{}), std::chrono::duration<double, std::milli>(times.done - times.go).count()};
  }

  static constexpr std::size_t kBytes = 1 << 20;
  std::unique_ptr<StartLine, void (*)(StartLine*)> x_line{nullptr, nullptr};
  std::unique_ptr<Stopwatch> x_watch;
  std::unique_ptr<Referee> x_referee;
  std::uint32_t x_iteration = 0;
  cudaStream_t x_stream = nullptr;
  std::byte *x_from = nullptr, *x_to = nullptr;
};

TEST_F(StopwatchOnGpu, MeasuresWhatTheDeviceDoes) {
  time([&] { spin<<<1, 1, 0, x_stream>>>(0); });  // loads the kernels
  for (const double milliseconds : {0.05, 0.5, 5.0}) {
    const auto [lap, outside] = time([&] { spin<<<1, 1, 0, x_stream>>>(static_cast<long long>(milliseconds * 1e6)); });
    EXPECT_GE(lap.device_ms, 0.99 * milliseconds);
    EXPECT_LE(lap.device_ms, milliseconds + 0.02);
    EXPECT_GE(outside, lap.device_ms - 0.002);
    EXPECT_LE(outside, lap.device_ms + 0.05);
  }
}

TEST_F(StopwatchOnGpu, DoesNotCountTheHost) {
  const auto [lap, outside] = time([&] {
    std::this_thread::sleep_for(5ms);
    spin<<<1, 1, 0, x_stream>>>(50'000);
  });
  EXPECT_LE(lap.device_ms, 0.07);
  EXPECT_GE(lap.host_ms, 5);
}

TEST_F(StopwatchOnGpu, LetsWorkWaitForItsOwnResults) {
  const auto [lap, outside] = time([&] {
    spin<<<1, 1, 0, x_stream>>>(50'000);
    cudaStreamSynchronize(x_stream);
    spin<<<1, 1, 0, x_stream>>>(50'000);
  });
  EXPECT_GE(lap.device_ms, 0.099);
  EXPECT_LE(lap.device_ms, 1);
}

TEST_F(StopwatchOnGpu, DeliversInputsOnlyWhenAllIsEnqueued) {
  ASSERT_EQ(cudaMemset(x_from, 1, kBytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(x_to, 0, kBytes), cudaSuccess);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  unsigned char early = 9, in_turn = 9;
  time([&] {
    // Copies to pageable memory keep the host waiting: the second one until the gates have opened.
    cudaMemcpyAsync(&early, x_to, 1, cudaMemcpyDeviceToHost, other);
    cudaStreamSynchronize(other);
    cudaMemcpyAsync(&in_turn, x_to, 1, cudaMemcpyDeviceToHost, x_stream);
  });
  EXPECT_EQ(early, 0);
  EXPECT_EQ(in_turn, 1);
}

TEST_F(StopwatchOnGpu, OpensTheGatesAlsoForWorkThatThrows) {
  x_referee->begin(++x_iteration);
  EXPECT_THROW(x_watch->time(x_iteration, {.to = x_to, .from = x_from, .bytes = kBytes}, x_stream,
                             [] { throw std::runtime_error("no"); }),
               std::runtime_error);
  x_referee->finish();
  time([] {});
}

}  // namespace
}  // namespace pkb::timing
