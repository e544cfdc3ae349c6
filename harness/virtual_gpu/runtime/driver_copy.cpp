// SPDX-License-Identifier: Apache-2.0
// The driver's allocations, copies and fills, and what it knows of pointers.
#include "harness/virtual_gpu/runtime/copy.h"
#include "harness/virtual_gpu/runtime/driver.h"

using namespace pkb::virtual_gpu;

namespace {

CUresult fill_elements(CUdeviceptr to, unsigned value, unsigned element, std::size_t count, CUstream stream) {
  return driver_call([&](Device& device) {
    if (to % element != 0) return CUDA_ERROR_INVALID_VALUE;
    return driver_code(
        fill(device, {.to = pointer_of(to), .value = value, .width = count * element, .element = element}, stream));
  });
}

CUresult copy_bytes(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, cudaMemcpyKind kind) {
  return by_runtime(cudaMemcpy, pointer_of(to), static_cast<const void*>(pointer_of(from)), bytes, kind);
}

CUresult copy_bytes(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, cudaMemcpyKind kind, CUstream stream) {
  return by_runtime(cudaMemcpyAsync, pointer_of(to), static_cast<const void*>(pointer_of(from)), bytes, kind, stream);
}

template <class Value>
CUresult give(void* to, Value value) {
  *static_cast<Value*>(to) = value;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAlloc(CUdeviceptr* to, std::size_t bytes) {
  if (to == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  return by_runtime(static_cast<cudaError_t (*)(void**, std::size_t)>(cudaMalloc), reinterpret_cast<void**>(to), bytes);
}

CUresult cuMemFree(CUdeviceptr address) { return by_runtime(cudaFree, pointer_of(address)); }

CUresult cuMemGetAddressRange(CUdeviceptr* base, std::size_t* bytes, CUdeviceptr address) {
  return driver_call([&](Device& device) {
    const auto range = device.memory().find(pointer_of(address));
    if (!range) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = range->base;
    if (bytes != nullptr) *bytes = range->bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  return by_runtime(cudaMemGetInfo, free_bytes, total);
}

CUresult cuMemHostGetDevicePointer(CUdeviceptr* to, void* on_host, unsigned flags) {
  return by_runtime(static_cast<cudaError_t (*)(void**, void*, unsigned)>(cudaHostGetDevicePointer),
                    reinterpret_cast<void**>(to), on_host, flags);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyDefault);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyDefault, stream);
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy_bytes(to, address_of(from), bytes, cudaMemcpyHostToDevice);
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes(address_of(to), from, bytes, cudaMemcpyDeviceToHost);
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return copy_bytes(to, address_of(from), bytes, cudaMemcpyHostToDevice, stream);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(address_of(to), from, bytes, cudaMemcpyDeviceToHost, stream);
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return copy_bytes(to, from, bytes, cudaMemcpyDeviceToDevice, stream);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, std::size_t count) {
  return fill_elements(to, value, 1, count, nullptr);
}
CUresult cuMemsetD32(CUdeviceptr to, unsigned value, std::size_t count) {
  return fill_elements(to, value, 4, count, nullptr);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill_elements(to, value, 1, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream stream) {
  return fill_elements(to, value, 4, count, stream);
}

CUresult cuPointerGetAttribute(void* to, CUpointer_attribute attribute, CUdeviceptr address) {
  return driver_call([&](Device& device) {
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto range = device.memory().find(pointer_of(address));
    if (!range) return CUDA_ERROR_INVALID_VALUE;
    const bool on_device = is_device(range->kind);
    switch (static_cast<int>(attribute)) {
      case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        return give(to, unsigned{on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST});
      case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return give(to, address);
      case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return is_open_to_host(range->kind) ? give(to, pointer_of(address)) : CUDA_ERROR_INVALID_VALUE;
      case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return give(to, 0);
      case CU_POINTER_ATTRIBUTE_IS_MANAGED: return give(to, unsigned{range->kind == MemoryKind::managed});
      case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return give(to, pointer_of(range->base));
      case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return give(to, std::size_t{range->bytes});
      case CU_POINTER_ATTRIBUTE_MAPPED: return give(to, 1);
      default:
        device.unsupported("attribute " + std::to_string(static_cast<int>(attribute)) + " of cuPointerGetAttribute");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
  });
}
