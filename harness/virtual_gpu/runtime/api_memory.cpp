// SPDX-License-Identifier: Apache-2.0
// Memory: allocation, host memory, what a pointer is.
#include <cstdint>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/capture.h"

using namespace pkb::virtual_gpu;

namespace {

cudaError_t allocate_now(Device& device, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0) {
  if (pointer == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  *pointer = device.memory().allocate({.bytes = bytes, .kind = kind, .flags = flags, .name = {}});
  return *pointer == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t allocate(Device& device, void** pointer, std::size_t bytes, MemoryKind kind, unsigned flags = 0) {
  const cudaError_t error = check_unsafe_call(device);
  return error != cudaSuccess ? error : allocate_now(device, pointer, bytes, kind, flags);
}

// A real cudaFree returns when the device has finished what it was doing.
cudaError_t release(Device& device, void* pointer, MemoryKind kind) {
  if (pointer == nullptr) return cudaSuccess;
  if (const cudaError_t error = check_unsafe_call(device); error != cudaSuccess) return error;
  const auto range = device.memory().find(pointer);
  if (!range || range->base != reinterpret_cast<std::uintptr_t>(pointer) || range->kind != kind) {
    return cudaErrorInvalidValue;
  }
  device.engine().wait_all();
  if (const cudaError_t sticky = device.sticky_error(); sticky != cudaSuccess) return sticky;
  return device.memory().release(pointer, kind) ? cudaSuccess : cudaErrorInvalidValue;
}

constexpr std::size_t kPitchUnit = 512;

cudaError_t allocate_pitched(Device& device, void** pointer, std::size_t* pitch, std::size_t width,
                             std::size_t rows) {
  if (pitch == nullptr) return cudaErrorInvalidValue;
  *pitch = (width + kPitchUnit - 1) / kPitchUnit * kPitchUnit;
  return allocate(device, pointer, *pitch * rows, MemoryKind::device);
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return call([&](Device& device) { return allocate(device, pointer, bytes, MemoryKind::device); });
}

// Candidates share symmetric memory; pages that wander between host and devices are not modelled.
cudaError_t cudaMallocManaged(void**, std::size_t, unsigned) {
  return call([](Device& device) { return device.unsupported("cudaMallocManaged"); });
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  return call([&](Device& device) { return allocate_pitched(device, pointer, pitch, width, height); });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  return call([&](Device& device) {
    if (pitched == nullptr) return cudaErrorInvalidValue;
    pitched->xsize = extent.width;
    pitched->ysize = extent.height;
    return allocate_pitched(device, &pitched->ptr, &pitched->pitch, extent.width, extent.height * extent.depth);
  });
}

cudaError_t cudaFree(void* pointer) {
  return call([&](Device& device) { return release(device, pointer, MemoryKind::device); });
}

// Ordered allocation: the memory exists at once, which no correct program can tell from existing later.
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream) {
  return call([&](Device& device) {
    const auto found = device.stream(stream);
    if (!found) return cudaErrorInvalidResourceHandle;
    if (found->capture) return device.unsupported("cudaMallocAsync while its stream is captured");
    return allocate_now(device, pointer, bytes, MemoryKind::device);
  });
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  return call([&](Device& device) {
    const auto stream = device.stream(handle);
    if (!stream) return cudaErrorInvalidResourceHandle;
    if (stream->capture) return device.unsupported("cudaFreeAsync while its stream is captured");
    const auto range = device.memory().find(pointer);
    if (!range || range->kind != MemoryKind::device || range->base != reinterpret_cast<std::uintptr_t>(pointer)) {
      return cudaErrorInvalidValue;
    }
    device.engine().submit(
        stream->stream, DeviceWork{[&device, pointer] { device.memory().release(pointer, MemoryKind::device); }});
    return cudaSuccess;
  });
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  return call([&](Device& device) {
    if ((flags & ~kKnown) != 0) return cudaErrorInvalidValue;
    return allocate(device, pointer, bytes, MemoryKind::pinned, flags | cudaHostAllocMapped);
  });
}

cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  return cudaHostAlloc(pointer, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* pointer) {
  return call([&](Device& device) { return release(device, pointer, MemoryKind::pinned); });
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory |
                              cudaHostRegisterReadOnly;
  return call([&](Device& device) {
    if (pointer == nullptr || bytes == 0 || (flags & ~kKnown) != 0 || device.memory().is_device_only(pointer)) {
      return cudaErrorInvalidValue;
    }
    const MemoryRange range{.base = reinterpret_cast<std::uintptr_t>(pointer),
                            .bytes = bytes,
                            .kind = MemoryKind::registered,
                            .flags = flags | cudaHostRegisterMapped};
    const bool added = device.memory().add(range, "memory given to cudaHostRegister", device.setup().rank);
    return added ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered;
  });
}

cudaError_t cudaHostUnregister(void* pointer) {
  return call([&](Device& device) {
    device.engine().wait_all();
    return device.memory().remove(pointer, MemoryKind::registered) ? cudaSuccess
                                                                   : cudaErrorHostMemoryNotRegistered;
  });
}

cudaError_t cudaHostGetDevicePointer(void** on_device, void* on_host, unsigned flags) {
  return call([&](Device& device) {
    const auto range = device.memory().find(on_host);
    if (on_device == nullptr || flags != 0 || !range || is_device(range->kind)) return cudaErrorInvalidValue;
    *on_device = on_host;
    return cudaSuccess;
  });
}

cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  return call([&](Device& device) {
    const auto range = device.memory().find(pointer);
    if (flags == nullptr || !range || range->kind != MemoryKind::pinned) return cudaErrorInvalidValue;
    *flags = range->flags;
    return cudaSuccess;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  return call([&](Device& device) {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    void* const address = const_cast<void*>(pointer);
    *attributes = {};
    const auto range = device.memory().find(pointer);
    if (!range) {
      attributes->type = cudaMemoryTypeUnregistered;
      attributes->device = cudaInvalidDeviceId;
      attributes->hostPointer = address;
      return cudaSuccess;
    }
    attributes->devicePointer = address;
    if (!is_device(range->kind)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->hostPointer = address;
    } else if (range->kind == MemoryKind::managed) {
      attributes->type = cudaMemoryTypeManaged;
      attributes->hostPointer = address;
    } else {
      attributes->type = cudaMemoryTypeDevice;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total_bytes) {
  return call([&](Device& device) {
    if (free_bytes == nullptr || total_bytes == nullptr) return cudaErrorInvalidValue;
    *total_bytes = device.memory().capacity();
    *free_bytes = *total_bytes - device.memory().used();
    return cudaSuccess;
  });
}

// Managed memory never moves here, so advice and prefetching have nothing to do.
cudaError_t cudaMemAdvise(const void* pointer, std::size_t bytes, cudaMemoryAdvise, cudaMemLocation) {
  return call([&](Device& device) {
    const auto range = device.memory().find(pointer);
    return range && range->kind == MemoryKind::managed && bytes <= range->bytes ? cudaSuccess : cudaErrorInvalidValue;
  });
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t bytes, cudaMemLocation, unsigned flags,
                                 cudaStream_t stream) {
  return call([&](Device& device) {
    const auto range = device.memory().find(pointer);
    if (flags != 0 || !range || range->kind != MemoryKind::managed || bytes > range->bytes) {
      return cudaErrorInvalidValue;
    }
    return device.stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
  });
}
