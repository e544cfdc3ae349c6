// SPDX-License-Identifier: Apache-2.0
// Attributes of kernels, and how many of their blocks fit on an SM.
#include <algorithm>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/launch.h"

using namespace pkb::virtual_gpu;

namespace {

template <class Body>
cudaError_t with_kernel(const void* function, Body&& body) {
  return call([&](Device& device) {
    const FoundKernel found = find_kernel(device, function);
    return found.kernel ? body(device, found) : found.error;
  });
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return with_kernel(function, [&](Device& device, const FoundKernel& found) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const Kernel& kernel = *found.kernel;
    *attributes = {};
    attributes->sharedSizeBytes = kernel.static_shared;
    attributes->localSizeBytes = kernel.local_bytes;
    attributes->maxThreadsPerBlock = static_cast<int>(kernel.max_threads);
    attributes->numRegs = static_cast<int>(registers_per_thread(device.chip(), kernel));
    attributes->ptxVersion = attributes->binaryVersion = device.chip().architecture();
    attributes->maxDynamicSharedSizeBytes = static_cast<int>(allowed_dynamic_shared(device.chip(), found));
    attributes->preferredShmemCarveout = cudaSharedmemCarveoutDefault;
    const std::uint32_t* cluster = kernel.cluster[0] != 0 ? kernel.cluster : found.entry->cluster;
    attributes->clusterDimMustBeSet =
        cluster[0] != 0 || kernel.explicit_cluster || found.entry->cluster_must_be_set ? 1 : 0;
    attributes->requiredClusterWidth = static_cast<int>(cluster[0]);
    attributes->requiredClusterHeight = static_cast<int>(cluster[1]);
    attributes->requiredClusterDepth = static_cast<int>(cluster[2]);
    attributes->nonPortableClusterSizeAllowed = found.entry->non_portable_cluster ? 1 : 0;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return with_kernel(function, [&](Device& device, const FoundKernel& found) {
    switch (static_cast<int>(attribute)) {
      case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || found.kernel->static_shared + static_cast<std::size_t>(value) >
                             static_cast<std::size_t>(device.chip().shared_per_block)) {
          return cudaErrorInvalidValue;
        }
        found.entry->max_dynamic_shared = value;
        return cudaSuccess;
      case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value >= cudaSharedmemCarveoutDefault && value <= 100 ? cudaSuccess : cudaErrorInvalidValue;
      case cudaFuncAttributeClusterSchedulingPolicyPreference: return cudaSuccess;
      case cudaFuncAttributeNonPortableClusterSizeAllowed:
        if (value < 0 || value > 1) return cudaErrorInvalidValue;
        found.entry->non_portable_cluster = value == 1;
        return cudaSuccess;
      case cudaFuncAttributeClusterDimMustBeSet:
        if (value < 0 || value > 1) return cudaErrorInvalidValue;
        found.entry->cluster_must_be_set = value == 1;
        return cudaSuccess;
      case cudaFuncAttributeRequiredClusterWidth:
      case cudaFuncAttributeRequiredClusterHeight:
      case cudaFuncAttributeRequiredClusterDepth:
        if (found.kernel->cluster[0] != 0) return cudaErrorNotPermitted;
        if (value < 0) return cudaErrorInvalidValue;
        found.entry->cluster[static_cast<int>(attribute) - static_cast<int>(cudaFuncAttributeRequiredClusterWidth)] =
            static_cast<std::uint32_t>(value);
        return cudaSuccess;
      default: return cudaErrorInvalidValue;
    }
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int index) {
  if (index != 0) return record(cudaErrorInvalidDevice);
  return cudaFuncSetAttribute(kernel, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache) {
  return call([&](Device& device) {
    return device.modules().kernel(function) != nullptr ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* function, cudaSharedMemConfig) {
  return cudaFuncSetCacheConfig(function, cudaFuncCachePreferNone);
}

cudaError_t cudaFuncGetName(const char** name, const void* function) {
  return call([&](Device& device) {
    const KernelEntry* entry = device.modules().kernel(function);
    if (name == nullptr || function == nullptr) return cudaErrorInvalidValue;
    if (entry == nullptr) return cudaErrorInvalidResourceHandle;
    *name = entry->name.c_str();
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetParamInfo(const void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  return with_kernel(function, [&](Device&, const FoundKernel& found) {
    if (offset == nullptr || index >= found.kernel->parameters.size()) return cudaErrorInvalidValue;
    *offset = found.kernel->parameters[index].offset;
    if (bytes != nullptr) *bytes = found.kernel->parameters[index].bytes;
    return cudaSuccess;
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return call([&](Device& device) {
    KernelEntry* entry = device.modules().kernel(function);
    if (kernel == nullptr) return cudaErrorInvalidValue;
    if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
    *kernel = reinterpret_cast<cudaKernel_t>(entry);
    return cudaSuccess;
  });
}

// A CUfunction, for the driver's functions.
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* to, const void* function) {
  cudaKernel_t kernel = nullptr;
  if (to == nullptr) return record(cudaErrorInvalidValue);
  const cudaError_t error = cudaGetKernel(&kernel, function);
  if (error == cudaSuccess) *to = reinterpret_cast<cudaFunction_t>(kernel);
  return error;
}

// nvcc's host code takes the handle once, before the first launch and whatever the state of the device.
extern "C" cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return call_always([&](Device& device) {
    KernelEntry* entry = device.modules().kernel(function);
    if (entry == nullptr) return cudaErrorInvalidDeviceFunction;
    *kernel = reinterpret_cast<cudaKernel_t>(entry);
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   std::size_t dynamic_shared, unsigned flags) {
  return with_kernel(function, [&](Device& device, const FoundKernel& found) {
    if (blocks == nullptr || threads <= 0 || flags > cudaOccupancyDisableCachingOverride) return cudaErrorInvalidValue;
    const auto count = static_cast<std::uint64_t>(threads);
    *blocks = 0;
    if (found.entry->max_dynamic_shared >= 0 && dynamic_shared > allowed_dynamic_shared(device.chip(), found)) {
      return cudaSuccess;
    }
    *blocks = blocks_per_sm(device.chip(), shape_of(device.chip(), *found.kernel, count, dynamic_shared));
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t dynamic_shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* function, int blocks,
                                                      int threads) {
  return with_kernel(function, [&](Device& device, const FoundKernel& found) {
    const Chip& chip = device.chip();
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return cudaErrorInvalidValue;
    const auto count = static_cast<std::uint64_t>(threads);
    if (blocks_per_sm(chip, shape_of(chip, *found.kernel, count, 0)) < blocks) return cudaErrorInvalidValue;
    const int share = chip.shared_per_sm / blocks / chip.shared_unit * chip.shared_unit - chip.reserved_shared;
    *bytes = static_cast<std::size_t>(std::min(share, chip.shared_per_block)) - found.kernel->static_shared;
    return cudaSuccess;
  });
}
