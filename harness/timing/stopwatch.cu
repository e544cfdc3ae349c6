// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/stopwatch.h"

#include <chrono>
#include <cuda/atomic>
#include <exception>

#include "harness/error/error.h"

namespace pkb::timing {
namespace {

using Number = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

__global__ void wait_for(std::uint32_t* go, std::uint32_t iteration) {
  while (Number(*go).load(cuda::memory_order_acquire) < iteration) {
  }
}

__global__ void report_and_wait_for(std::uint32_t* report, std::uint32_t* go, std::uint32_t iteration) {
  Number(*report).store(iteration, cuda::memory_order_release);
  while (Number(*go).load(cuda::memory_order_acquire) < iteration) {
  }
}

__global__ void report_iteration(std::uint32_t* report, std::uint32_t iteration) {
  Number(*report).store(iteration, cuda::memory_order_release);
}

std::uint32_t* number_in(Word& word) { return reinterpret_cast<std::uint32_t*>(&word.value); }

void require_success(cudaError_t error, const char* call) {
  if (error != cudaSuccess)
    throw EnvironmentError({.where = call, .fault = cudaGetErrorString(error), .remedy = {}});
}

std::size_t second_level_cache_bytes() {
  int device = 0, bytes = 0;
  require_success(cudaGetDevice(&device), "cudaGetDevice");
  require_success(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device), "cudaDeviceGetAttribute");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

Stopwatch::Stopwatch(StartLine& line, int lane)
    // Twice the cache, since its replacement is not strictly least recently used.
    : x_line(line), x_lane(lane), x_flush_bytes(2 * second_level_cache_bytes()) {
  require_success(cudaHostRegister(&x_line, sizeof(StartLine), cudaHostRegisterMapped | cudaHostRegisterPortable),
                  "cudaHostRegister");
  void* mapped = nullptr;
  require_success(cudaHostGetDevicePointer(&mapped, &x_line, 0), "cudaHostGetDevicePointer");
  x_line_on_device = static_cast<StartLine*>(mapped);
  require_success(cudaMalloc(&x_flush, x_flush_bytes), "cudaMalloc");
  require_success(cudaEventCreate(&x_begin), "cudaEventCreate");
  require_success(cudaEventCreate(&x_end), "cudaEventCreate");
}

Stopwatch::~Stopwatch() {
  cudaEventDestroy(x_end);
  cudaEventDestroy(x_begin);
  cudaFree(x_flush);
  cudaHostUnregister(&x_line);
}

std::optional<Lap> Stopwatch::time(std::uint32_t iteration, const Delivery& inputs, cudaStream_t stream,
                                   const std::function<void()>& work) {
  StartLine::Lane& lane = x_line_on_device->lanes[x_lane];
  wait_for<<<1, 1, 0, stream>>>(number_in(x_line_on_device->inputs_may_come), iteration);
  cudaMemcpyAsync(inputs.to, inputs.from, inputs.bytes, cudaMemcpyDeviceToDevice, stream);
  cudaMemsetAsync(x_flush, static_cast<int>(iteration), x_flush_bytes, stream);
  report_and_wait_for<<<1, 1, 0, stream>>>(number_in(lane.ready), number_in(x_line_on_device->go), iteration);
  cudaEventRecord(x_begin, stream);

  std::exception_ptr thrown;
  const auto start = std::chrono::steady_clock::now();
  try {
    work();
  } catch (...) {
    thrown = std::current_exception();
  }
  const std::chrono::duration<double, std::milli> host = std::chrono::steady_clock::now() - start;

  cudaEventRecord(x_end, stream);
  report_iteration<<<1, 1, 0, stream>>>(number_in(lane.done), iteration);
  x_line.lanes[x_lane].enqueued.value.store(iteration, std::memory_order_release);
  const cudaError_t finished = cudaDeviceSynchronize();
  if (thrown) std::rethrow_exception(thrown);
  float device = 0;
  if (finished != cudaSuccess || cudaEventElapsedTime(&device, x_begin, x_end) != cudaSuccess) return std::nullopt;
  return Lap{.device_ms = device, .host_ms = host.count()};
}

}  // namespace pkb::timing
