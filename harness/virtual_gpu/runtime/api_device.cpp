// SPDX-License-Identifier: Apache-2.0
// The device: what it is, its limits, synchronisation, versions. A process has one, number 0.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/capture.h"

using namespace pkb::virtual_gpu;

namespace {

constexpr int kDevices = 1;
constexpr std::string_view kBusId = "0000:00:00.0";

std::optional<int> attribute_of(const Chip& x, cudaDeviceAttr attribute) {
#define PKB_DEVICE_ATTRIBUTE(name, value) \
  case name: return static_cast<int>(value);
  switch (static_cast<int>(attribute)) {
#include "harness/virtual_gpu/runtime/device_attributes.inc"
  }
#undef PKB_DEVICE_ATTRIBUTE
  return std::nullopt;
}

// For functions about a device by number that only need it to exist.
template <class Body>
cudaError_t with_device(int index, Body&& body) {
  return call_always([&](Device& device) { return index == 0 ? body(device) : cudaErrorInvalidDevice; });
}

template <class Value>
cudaError_t give(Value* to, Value value) {
  if (to == nullptr) return cudaErrorInvalidValue;
  *to = value;
  return cudaSuccess;
}

// Their defaults on an H200, by cudaLimit. None changes what the virtual GPU does.
std::array<std::size_t, 7> limits{1024, std::size_t{8} << 20, std::size_t{8} << 20, 0, 2048, 64, 0};

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  return call_always([&](Device&) { return give(count, kDevices); });
}

cudaError_t cudaGetDevice(int* index) {
  return call_always([&](Device&) { return give(index, 0); });
}

cudaError_t cudaSetDevice(int index) {
  return with_device(index, [](Device&) { return cudaSuccess; });
}

cudaError_t cudaInitDevice(int index, unsigned, unsigned) { return cudaSetDevice(index); }

cudaError_t cudaSetValidDevices(int* indices, int count) {
  return call_always([&](Device&) {
    if (count < 0 || (indices == nullptr && count > 0)) return cudaErrorInvalidValue;
    return std::all_of(indices, indices + count, [](int index) { return index == 0; }) ? cudaSuccess
                                                                                       : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaChooseDevice(int* index, const cudaDeviceProp*) { return cudaGetDevice(index); }

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  return call_always([&](Device&) { return (flags & ~cudaDeviceMask) == 0 ? cudaSuccess : cudaErrorInvalidValue; });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return call_always([&](Device&) { return give(flags, unsigned{cudaDeviceMapHost}); });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int index) {
  return with_device(index, [&](Device& device) {
    const auto found = attribute_of(device.chip(), attribute);
    return found ? give(value, *found) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  return with_device(index, [&](Device& device) {
    if (properties == nullptr) return cudaErrorInvalidValue;
    const Chip& chip = device.chip();
    const auto value = [&](cudaDeviceAttr attribute) { return attribute_of(chip, attribute).value_or(0); };
    const auto bytes = [&](cudaDeviceAttr attribute) { return static_cast<std::size_t>(value(attribute)); };
    cudaDeviceProp& p = *properties;
    p = {};
    chip.product_name.copy(p.name, sizeof(p.name) - 1);
    p.totalGlobalMem = chip.memory_bytes;
    p.sharedMemPerBlock = bytes(cudaDevAttrMaxSharedMemoryPerBlock);
    p.regsPerBlock = value(cudaDevAttrMaxRegistersPerBlock);
    p.warpSize = value(cudaDevAttrWarpSize);
    p.memPitch = bytes(cudaDevAttrMaxPitch);
    p.maxThreadsPerBlock = value(cudaDevAttrMaxThreadsPerBlock);
    p.maxThreadsDim[0] = value(cudaDevAttrMaxBlockDimX);
    p.maxThreadsDim[1] = value(cudaDevAttrMaxBlockDimY);
    p.maxThreadsDim[2] = value(cudaDevAttrMaxBlockDimZ);
    p.maxGridSize[0] = value(cudaDevAttrMaxGridDimX);
    p.maxGridSize[1] = value(cudaDevAttrMaxGridDimY);
    p.maxGridSize[2] = value(cudaDevAttrMaxGridDimZ);
    p.totalConstMem = bytes(cudaDevAttrTotalConstantMemory);
    p.major = chip.major;
    p.minor = chip.minor;
    p.textureAlignment = bytes(cudaDevAttrTextureAlignment);
    p.texturePitchAlignment = bytes(cudaDevAttrTexturePitchAlignment);
    p.multiProcessorCount = chip.sm_count;
    p.canMapHostMemory = value(cudaDevAttrCanMapHostMemory);
    p.concurrentKernels = value(cudaDevAttrConcurrentKernels);
    p.ECCEnabled = value(cudaDevAttrEccEnabled);
    p.asyncEngineCount = value(cudaDevAttrAsyncEngineCount);
    p.unifiedAddressing = value(cudaDevAttrUnifiedAddressing);
    p.memoryBusWidth = chip.memory_bus_bits;
    p.l2CacheSize = chip.l2_bytes;
    p.persistingL2CacheMaxSize = value(cudaDevAttrMaxPersistingL2CacheSize);
    p.maxThreadsPerMultiProcessor = value(cudaDevAttrMaxThreadsPerMultiProcessor);
    p.streamPrioritiesSupported = value(cudaDevAttrStreamPrioritiesSupported);
    p.globalL1CacheSupported = value(cudaDevAttrGlobalL1CacheSupported);
    p.localL1CacheSupported = value(cudaDevAttrLocalL1CacheSupported);
    p.sharedMemPerMultiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    p.regsPerMultiprocessor = value(cudaDevAttrMaxRegistersPerMultiprocessor);
    p.managedMemory = value(cudaDevAttrManagedMemory);
    p.concurrentManagedAccess = value(cudaDevAttrConcurrentManagedAccess);
    p.computePreemptionSupported = value(cudaDevAttrComputePreemptionSupported);
    p.canUseHostPointerForRegisteredMem = value(cudaDevAttrCanUseHostPointerForRegisteredMem);
    p.cooperativeLaunch = value(cudaDevAttrCooperativeLaunch);
    p.sharedMemPerBlockOptin = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
    p.maxBlocksPerMultiProcessor = value(cudaDevAttrMaxBlocksPerMultiprocessor);
    p.accessPolicyMaxWindowSize = value(cudaDevAttrMaxAccessPolicyWindowSize);
    p.reservedSharedMemPerBlock = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
    p.hostRegisterSupported = value(cudaDevAttrHostRegisterSupported);
    p.memoryPoolsSupported = value(cudaDevAttrMemoryPoolsSupported);
    p.clusterLaunch = value(cudaDevAttrClusterLaunch);
    p.deviceNumaId = value(cudaDevAttrNumaId);
    p.hostNumaId = value(cudaDevAttrHostNumaId);
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceSynchronize() {
  return call([](Device& device) {
    if (const cudaError_t error = check_unsafe_call(device); error != cudaSuccess) return error;
    device.engine().wait_all();
    return device.sticky_error();
  });
}

cudaError_t cudaDeviceReset() {
  return call_always([](Device& device) {
    device.reset();
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit limit) {
  return call([&](Device&) {
    if (limit == cudaLimitDevRuntimeSyncDepth) return cudaErrorUnsupportedLimit;
    return limit < limits.size() ? give(value, limits[limit]) : cudaErrorInvalidValue;
  });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, std::size_t value) {
  return call([&](Device&) {
    if (limit == cudaLimitDevRuntimeSyncDepth) return cudaErrorUnsupportedLimit;
    if (limit >= limits.size()) return cudaErrorInvalidValue;
    limits[limit] = value;
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return call([&](Device&) { return give(config, cudaFuncCachePreferNone); });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) {
  return call([](Device&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return call([&](Device&) { return give(config, cudaSharedMemBankSizeFourByte); });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) {
  return call([](Device&) { return cudaSuccess; });
}

cudaError_t cudaCtxResetPersistingL2Cache() {
  return call([](Device&) { return cudaSuccess; });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int index) {
  return with_device(index, [&](Device&) {
    if (text == nullptr || length <= static_cast<int>(kBusId.size())) return cudaErrorInvalidValue;
    text[kBusId.copy(text, kBusId.size())] = '\0';
    return cudaSuccess;
  });
}

cudaError_t cudaDeviceGetByPCIBusId(int* index, const char* text) {
  return call_always([&](Device&) {
    if (text == nullptr) return cudaErrorInvalidValue;
    return text == kBusId ? give(index, 0) : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int index, int peer) {
  return with_device(std::max(index, peer), [&](Device&) { return give(can, 0); });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return call([&](Device&) {
    if (flags != 0) return cudaErrorInvalidValue;
    return peer == 0 ? cudaErrorPeerAccessUnsupported : cudaErrorInvalidDevice;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return call([&](Device&) { return peer == 0 ? cudaErrorPeerAccessNotEnabled : cudaErrorInvalidDevice; });
}

cudaError_t cudaDeviceGetP2PAttribute(int*, cudaDeviceP2PAttr, int, int) {
  return call_always([](Device&) { return cudaErrorInvalidDevice; });  // it takes two different devices
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return call_always([&](Device&) { return give(version, CUDART_VERSION); });
}

cudaError_t cudaDriverGetVersion(int* version) { return cudaRuntimeGetVersion(version); }

cudaError_t cudaProfilerStart() {
  return call([](Device&) { return cudaSuccess; });
}

cudaError_t cudaProfilerStop() { return cudaProfilerStart(); }
