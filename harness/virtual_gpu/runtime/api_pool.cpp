// SPDX-License-Identifier: Apache-2.0
// Memory pools: the device's default pool, whose tuning has no effect here.
#include "harness/virtual_gpu/runtime/call.h"

using namespace pkb::virtual_gpu;

namespace {

// A handle needs an address of its own and nothing behind it.
char default_pool_marker;
const auto kDefaultPool = reinterpret_cast<cudaMemPool_t>(&default_pool_marker);
std::uint64_t release_threshold = 0;

cudaError_t get_pool(cudaMemPool_t* pool, int device_index) {
  return call([&](Device&) {
    if (pool == nullptr) return cudaErrorInvalidValue;
    if (device_index != 0) return cudaErrorInvalidDevice;
    *pool = kDefaultPool;
    return cudaSuccess;
  });
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int index) { return get_pool(pool, index); }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int index) { return get_pool(pool, index); }

cudaError_t cudaDeviceSetMemPool(int index, cudaMemPool_t pool) {
  return call([&](Device&) {
    if (index != 0) return cudaErrorInvalidDevice;
    return pool == kDefaultPool ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return call([&](Device&) { return pool == kDefaultPool ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&](Device&) {
    if (pool != kDefaultPool || value == nullptr) return cudaErrorInvalidValue;
    if (attribute == cudaMemPoolAttrReleaseThreshold) release_threshold = *static_cast<std::uint64_t*>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return call([&](Device& device) {
    if (pool != kDefaultPool || value == nullptr) return cudaErrorInvalidValue;
    switch (attribute) {
      case cudaMemPoolReuseFollowEventDependencies:
      case cudaMemPoolReuseAllowOpportunistic:
      case cudaMemPoolReuseAllowInternalDependencies: *static_cast<int*>(value) = 1; return cudaSuccess;
      case cudaMemPoolAttrReleaseThreshold: *static_cast<std::uint64_t*>(value) = release_threshold; return cudaSuccess;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemCurrent:
      case cudaMemPoolAttrUsedMemHigh: *static_cast<std::uint64_t*>(value) = device.memory().used(); return cudaSuccess;
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  if (pool != kDefaultPool) return record(cudaErrorInvalidValue);
  return cudaMallocAsync(pointer, bytes, stream);
}
