// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/copy.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

namespace pkb::virtual_gpu {
namespace {

struct Side {
  const void* pointer;
  std::size_t span;     ///< bytes from the first to the last one touched
  bool must_be_device;  ///< what the direction of the copy says
};

// A pointer that the direction calls the device's must be known; one into known memory must stay within it.
bool allowed(const Side& side, const std::optional<MemoryRange>& range) {
  if (!range) return !side.must_be_device && side.pointer != nullptr;
  return side.span <= range->bytes - (reinterpret_cast<std::uintptr_t>(side.pointer) - range->base);
}

std::size_t span_of(std::size_t width, std::size_t height, std::size_t pitch) {
  return (height - 1) * pitch + width;
}

void move_rows(const Copy& copy) {
  auto* to = static_cast<std::byte*>(copy.to);
  const auto* from = static_cast<const std::byte*>(copy.from);
  for (std::size_t row = 0; row < copy.height; ++row, to += copy.to_pitch, from += copy.from_pitch) {
    std::memmove(to, from, copy.width);
  }
}

}  // namespace

cudaError_t copy(Device& device, Copy request, cudaStream_t handle, Waiting waiting) {
  const auto stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (request.kind < cudaMemcpyHostToHost || request.kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  if (request.width == 0 || request.height == 0) return cudaSuccess;
  if (request.height > 1 && (request.to_pitch < request.width || request.from_pitch < request.width)) {
    return cudaErrorInvalidPitchValue;
  }
  const auto to_range = device.memory().find(request.to), from_range = device.memory().find(request.from);
  const bool to_device = request.kind == cudaMemcpyHostToDevice || request.kind == cudaMemcpyDeviceToDevice;
  const bool from_device = request.kind == cudaMemcpyDeviceToHost || request.kind == cudaMemcpyDeviceToDevice;
  const std::size_t from_span = span_of(request.width, request.height, request.from_pitch);
  if (!allowed({request.to, span_of(request.width, request.height, request.to_pitch), to_device}, to_range) ||
      !allowed({request.from, from_span, from_device}, from_range)) {
    return cudaErrorInvalidValue;
  }

  // Pageable memory: what is read was staged when the call returns, what is written has arrived.
  std::shared_ptr<std::vector<std::byte>> staged;
  if (!from_range && to_range && waiting == Waiting::as_memcpy_async) {
    const auto* bytes = static_cast<const std::byte*>(request.from);
    staged = std::make_shared<std::vector<std::byte>>(bytes, bytes + from_span);
    request.from = staged->data();
  }
  const Point end =
      device.engine().submit(stream->stream, DeviceWork{[request, staged] { move_rows(request); }});
  const bool within_device = to_range && from_range && is_device(to_range->kind) && is_device(from_range->kind);
  if (waiting == Waiting::as_memcpy ? !within_device : !to_range) device.engine().wait(end);
  return device.sticky_error();
}

cudaError_t fill(Device& device, const Fill& request, cudaStream_t handle) {
  const auto stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (request.width == 0 || request.height == 0) return cudaSuccess;
  if (request.height > 1 && request.pitch < request.width) return cudaErrorInvalidPitchValue;
  const Side side{request.to, span_of(request.width, request.height, request.pitch), true};
  if (!allowed(side, device.memory().find(request.to))) return cudaErrorInvalidValue;
  device.engine().submit(stream->stream, DeviceWork{[request] {
                           auto* to = static_cast<std::byte*>(request.to);
                           for (std::size_t row = 0; row < request.height; ++row, to += request.pitch) {
                             std::memset(to, request.value, request.width);
                           }
                         }});
  return cudaSuccess;
}

}  // namespace pkb::virtual_gpu
