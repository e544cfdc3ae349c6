// SPDX-License-Identifier: Apache-2.0
#include "reference/device.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "reference/cuda_check.h"

namespace pkb::ref {
namespace {

thread_local Stream scoped_stream = nullptr;

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

struct OwnStream {
  Stream stream = nullptr;
  OwnStream() {
    // A pool that gives memory back at every synchronisation would make each allocation a driver call.
    cudaMemPool_t pool;
    check(cudaDeviceGetDefaultMemPool(&pool, current_device()), "cudaDeviceGetDefaultMemPool");
    std::uint64_t keep_all = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
          "cudaMemPoolSetAttribute");
    // Ordered with the legacy default stream, so that a caller's plain cudaMemcpy needs no event.
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
  }
};

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would be blamed for this failure
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status) + ", " +
                           cudaGetErrorString(status));
}

Stream current_stream() {
  if (scoped_stream) return scoped_stream;
  // One per device for the life of the process: tensors may outlive whoever made them.
  static std::mutex mutex;
  static auto* streams = new std::map<int, OwnStream>;
  const std::scoped_lock lock(mutex);
  return (*streams)[current_device()].stream;
}

StreamScope::StreamScope(Stream stream) : x_previous(scoped_stream) { scoped_stream = stream; }
StreamScope::~StreamScope() { scoped_stream = x_previous; }

void synchronize() { check(cudaStreamSynchronize(current_stream()), "cudaStreamSynchronize"); }

std::shared_ptr<void> device_allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const Stream stream = current_stream();
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, stream), "cudaMallocAsync");
  // A failure to free shows up in the next call on the stream; a deleter must not throw.
  return {memory, [stream](void* pointer) { cudaFreeAsync(pointer, stream); }};
}

}  // namespace pkb::ref
