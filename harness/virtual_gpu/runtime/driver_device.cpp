// SPDX-License-Identifier: Apache-2.0
// The driver's functions about itself, the device and its one context.
#include <algorithm>
#include <cstring>

#include "harness/virtual_gpu/runtime/driver.h"

using namespace pkb::virtual_gpu;

namespace {

// A handle needs an address of its own and nothing behind it.
char context_marker;
const auto kContext = reinterpret_cast<CUcontext>(&context_marker);

struct ResultText {
  CUresult result;
  const char* name;
};
// The texts are the runtime's, by number.
constexpr ResultText kOwnNames[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {CUDA_ERROR_ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

template <class Body>
CUresult with_device(CUdevice index, Body&& body) {
  return driver_call_always([&](Device& device) { return index == 0 ? body(device) : CUDA_ERROR_INVALID_DEVICE; });
}

template <class Value>
CUresult give(Value* to, Value value) {
  if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *to = value;
  return CUDA_SUCCESS;
}

}  // namespace

namespace pkb::virtual_gpu {

CUresult driver_code(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidPitchValue:
    case cudaErrorInvalidSymbol:
    case cudaErrorInvalidMemcpyDirection: return CUDA_ERROR_INVALID_VALUE;
    case cudaErrorInvalidDeviceFunction: return CUDA_ERROR_INVALID_HANDLE;
    default: return static_cast<CUresult>(error);
  }
}

}  // namespace pkb::virtual_gpu

CUresult cuInit(unsigned flags) {
  return driver_call_always([&](Device&) { return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuDriverGetVersion(int* version) { return give(version, CUDA_VERSION); }

CUresult cuGetErrorName(CUresult result, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = std::ranges::find(kOwnNames, result, &ResultText::result);
  *name = found == std::end(kOwnNames) ? nullptr : found->name;
  return *name == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char** text) {
  const char* name = nullptr;
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = nullptr;
  if (const CUresult unknown = cuGetErrorName(result, &name); unknown != CUDA_SUCCESS) return unknown;
  *text = cudaGetErrorString(static_cast<cudaError_t>(result));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* to, int ordinal) {
  return with_device(ordinal, [&](Device&) { return give(to, CUdevice{0}); });
}

CUresult cuDeviceGetCount(int* count) {
  return driver_call_always([&](Device&) { return give(count, 1); });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice index) {
  return with_device(index, [&](Device& device) {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    const std::string_view text = device.chip().product_name;
    name[text.copy(name, static_cast<std::size_t>(length) - 1)] = '\0';
    return CUDA_SUCCESS;
  });
}

// The runtime's attributes are the driver's, by the same numbers.
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice index) {
  return by_runtime(cudaDeviceGetAttribute, value, static_cast<cudaDeviceAttr>(attribute), int{index});
}

CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice index) {
  return with_device(index, [&](Device& device) { return give(bytes, std::size_t{device.memory().capacity()}); });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice index) {
  return with_device(index, [&](Device&) { return give(context, kContext); });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice index) {
  return with_device(index, [](Device&) { return CUDA_SUCCESS; });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return driver_call_always([&](Device&) { return give(context, kContext); });
}

CUresult cuCtxSetCurrent(CUcontext context) {
  return driver_call_always(
      [&](Device&) { return context == nullptr || context == kContext ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT; });
}

CUresult cuCtxGetDevice(CUdevice* index) {
  return driver_call_always([&](Device&) { return give(index, CUdevice{0}); });
}

CUresult cuCtxSynchronize() { return by_runtime(cudaDeviceSynchronize); }
