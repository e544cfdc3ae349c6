// SPDX-License-Identifier: Apache-2.0
#include "reference/device.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "reference/cuda_check.h"

namespace pkb::ref {
namespace {

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

/// What is rounded up to the same size shares blocks; at most an eighth is lost.
std::size_t block_size(std::size_t bytes) {
  const std::size_t step = std::max<std::size_t>(512, std::bit_ceil(bytes) / 16);
  return (bytes + step - 1) / step * step;
}

/// A device's stream and the blocks that were freed on it. What is enqueued later may use them at once.
class OwnStream {
 public:
  OwnStream() {
    // A pool that gives memory back at every synchronisation would make each allocation a driver call.
    cudaMemPool_t pool;
    check(cudaDeviceGetDefaultMemPool(&pool, current_device()), "cudaDeviceGetDefaultMemPool");
    std::uint64_t keep_all = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "cudaMemPoolSetAttribute");
    // Ordered with the legacy default stream, so that a caller's plain cudaMemcpy needs no event.
    check(cudaStreamCreate(&x_stream), "cudaStreamCreate");
  }

  Stream stream() const { return x_stream; }

  void* take(std::size_t size) {
    const std::scoped_lock lock(x_mutex);
    if (std::vector<void*>& blocks = x_freed[size]; !blocks.empty()) {
      void* const block = blocks.back();
      blocks.pop_back();
      return block;
    }
    void* block = nullptr;
    if (cudaMallocAsync(&block, size, x_stream) == cudaSuccess) return block;
    cudaGetLastError();
    for (const auto& [_, blocks] : x_freed)  // the pool joins what lies side by side
      for (void* each : blocks) check(cudaFreeAsync(each, x_stream), "cudaFreeAsync");
    x_freed.clear();
    check(cudaMallocAsync(&block, size, x_stream), "cudaMallocAsync");
    return block;
  }

  void give_back(void* block, std::size_t size) {
    constexpr std::size_t kLargestKept = 256 << 20;  // beyond it an allocation is short beside any use
    const std::scoped_lock lock(x_mutex);
    if (size <= kLargestKept)
      x_freed[size].push_back(block);
    else
      cudaFreeAsync(block,
                    x_stream);  // a failure shows up in the next call on the stream; a deleter must not throw
  }

 private:
  Stream x_stream = nullptr;
  std::mutex x_mutex;
  std::map<std::size_t, std::vector<void*>> x_freed;
};

/// For the life of the process: tensors may outlive whoever made them.
OwnStream& own_stream() {
  static std::mutex mutex;
  static auto* streams = new std::map<int, OwnStream>;
  const std::scoped_lock lock(mutex);
  return (*streams)[current_device()];
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would be blamed for this failure
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ", " +
                           cudaGetErrorString(status));
}

Stream current_stream() { return own_stream().stream(); }

void synchronize() { check(cudaStreamSynchronize(current_stream()), "cudaStreamSynchronize"); }

std::shared_ptr<void> device_allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  OwnStream& own = own_stream();
  const std::size_t size = block_size(bytes);
  return {own.take(size), [&own, size](void* block) { own.give_back(block, size); }};
}

}  // namespace pkb::ref
