// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/copy.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "harness/virtual_gpu/runtime/capture.h"
#include "harness/virtual_gpu/runtime/operation.h"

namespace pkb::virtual_gpu {
namespace {

struct Side {
  const void* pointer;
  std::size_t span;     ///< bytes from the first to the last one touched
  bool must_be_device;  ///< what the direction of the copy says
};

// Where this process has what lies at a side of a copy; null if CUDA refuses it. A pointer that the direction calls
// the device's must be known; one into known memory must stay within it.
std::byte* host_side(Device& device, const Side& side, const std::optional<MemoryRange>& range) {
  if (!range) {
    const bool refused = side.must_be_device || device.memory().is_device_only(side.pointer);
    return refused ? nullptr : static_cast<std::byte*>(const_cast<void*>(side.pointer));
  }
  const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(side.pointer) - range->base;
  return side.span <= range->bytes - offset ? range->host(side.pointer) : nullptr;
}

/// The box and one of its sides.
struct Strides {
  std::size_t width, height, depth, pitch, slice;

  bool empty() const { return width == 0 || height == 0 || depth == 0; }
  bool overlap() const {
    return (height > 1 && pitch < width) || (depth > 1 && slice < (height - 1) * pitch + width);
  }
  std::size_t span() const { return (depth - 1) * slice + (height - 1) * pitch + width; }
};
Strides to_strides(const Copy& c) { return {c.width, c.height, c.depth, c.to_pitch, c.to_slice}; }
Strides from_strides(const Copy& c) { return {c.width, c.height, c.depth, c.from_pitch, c.from_slice}; }

}  // namespace

namespace {

void add_touches(Device& device, const void* start, const Strides& strides, bool writes,
                 std::vector<check::Checker::Touch>& touches) {
  if (device.checker() == nullptr || strides.width == 0) return;
  for (std::size_t slice = 0; slice < strides.depth; ++slice)
    for (std::size_t row = 0; row < strides.height; ++row) {
      const auto* at = static_cast<const std::byte*>(start) + slice * strides.slice + row * strides.pitch;
      check::Checker::Touch touch = device.memory().touch(at, strides.width, writes);
      if (touch.shadow) touches.push_back(std::move(touch));
    }
}

}  // namespace

std::vector<check::Checker::Touch> HostCopy::touches(Device& device) const {
  std::vector<check::Checker::Touch> all;
  if (!box.staged) add_touches(device, box.from, from_strides(box), false, all);
  add_touches(device, box.to, to_strides(box), true, all);
  return all;
}

std::vector<check::Checker::Touch> HostFill::touches(Device& device) const {
  std::vector<check::Checker::Touch> all;
  add_touches(device, box.to, {box.width, box.height, box.depth, box.pitch, box.slice}, true, all);
  return all;
}

HostCopy on_host(Device& device, const Copy& copy) {
  HostCopy here{.box = copy};
  const auto refuse = [&here](cudaError_t error) {
    here.error = error;
    return here;
  };
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) return refuse(cudaErrorInvalidMemcpyDirection);
  const Strides to = to_strides(copy), from = from_strides(copy);
  if (to.empty()) return here;
  if (to.overlap() || from.overlap()) return refuse(cudaErrorInvalidPitchValue);
  here.to_range = device.memory().find(copy.to);
  here.from_range = device.memory().find(copy.from);
  const bool to_device = copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice;
  const bool from_device = copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice;
  here.to = host_side(device, {copy.to, to.span(), to_device}, here.to_range);
  here.from = copy.staged ? copy.staged->data()
                          : host_side(device, {copy.from, from.span(), from_device}, here.from_range);
  return here.to == nullptr || here.from == nullptr ? refuse(cudaErrorInvalidValue) : here;
}

void HostCopy::run() const {
  for (std::size_t slice = 0; slice < box.depth; ++slice) {
    for (std::size_t row = 0; row < box.height && box.width > 0; ++row) {
      std::memmove(to + slice * box.to_slice + row * box.to_pitch,
                   from + slice * box.from_slice + row * box.from_pitch, box.width);
    }
  }
}

cudaError_t copy(Device& device, Copy request, cudaStream_t handle, Waiting waiting) {
  const auto stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (waiting == Waiting::as_memcpy) {
    if (const cudaError_t error = check_unsafe_call(device); error != cudaSuccess) return error;
  }
  const HostCopy here = on_host(device, request);
  if (here.error != cudaSuccess || to_strides(request).empty()) return here.error;
  // Pageable memory: what is read was staged when the call returns, what is written has arrived.
  if (!here.from_range && here.to_range && waiting == Waiting::as_memcpy_async && !stream->capture) {
    request.staged =
        std::make_shared<const std::vector<std::byte>>(here.from, here.from + from_strides(request).span());
  }
  const Enqueued done = enqueue(device, *stream, std::move(request));
  if (done.error != cudaSuccess) return done.error;
  const bool within_device =
      here.to_range && here.from_range && is_device(here.to_range->kind) && is_device(here.from_range->kind);
  if (waiting == Waiting::as_memcpy ? !within_device : !here.to_range) device.engine().wait(done.end);
  return device.sticky_error();
}

std::optional<Copy> box_copy(const cudaMemcpy3DParms& p) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return std::nullopt;
  const auto start = [](const cudaPitchedPtr& memory, const cudaPos& at) {
    return static_cast<std::byte*>(memory.ptr) + at.x + memory.pitch * (at.y + memory.ysize * at.z);
  };
  return Copy{.to = start(p.dstPtr, p.dstPos),
              .from = start(p.srcPtr, p.srcPos),
              .width = p.extent.width,
              .height = p.extent.height,
              .depth = p.extent.depth,
              .to_pitch = p.dstPtr.pitch,
              .from_pitch = p.srcPtr.pitch,
              .to_slice = p.dstPtr.pitch * p.dstPtr.ysize,
              .from_slice = p.srcPtr.pitch * p.srcPtr.ysize,
              .kind = p.kind};
}

cudaMemcpy3DParms parameters_of(const Copy& copy) {
  const auto side = [&](const void* pointer, std::size_t pitch, std::size_t slice) {
    return cudaPitchedPtr{.ptr = const_cast<void*>(pointer),
                          .pitch = pitch,
                          .xsize = copy.width,
                          .ysize = pitch == 0 ? copy.height : slice / pitch};
  };
  cudaMemcpy3DParms p{};
  p.srcPtr = side(copy.from, copy.from_pitch, copy.from_slice);
  p.dstPtr = side(copy.to, copy.to_pitch, copy.to_slice);
  p.extent = {.width = copy.width, .height = copy.height, .depth = copy.depth};
  p.kind = copy.kind;
  return p;
}

HostFill on_host(Device& device, const Fill& fill) {
  HostFill here{.box = fill};
  const Strides strides{fill.width, fill.height, fill.depth, fill.pitch, fill.slice};
  if (strides.empty()) return here;
  if (strides.overlap()) {
    here.error = cudaErrorInvalidPitchValue;
    return here;
  }
  here.to = host_side(device, {fill.to, strides.span(), true}, device.memory().find(fill.to));
  if (here.to == nullptr) here.error = cudaErrorInvalidValue;
  return here;
}

void HostFill::run() const {
  for (std::size_t slice = 0; slice < box.depth; ++slice) {
    for (std::size_t row = 0; row < box.height && box.width > 0; ++row) {
      std::byte* const start = to + slice * box.slice + row * box.pitch;
      if (box.element == 1) {
        std::memset(start, static_cast<int>(box.value), box.width);
        continue;
      }
      for (std::size_t i = 0; i < box.width; i += box.element) std::memcpy(start + i, &box.value, box.element);
    }
  }
}

cudaError_t fill(Device& device, const Fill& request, cudaStream_t handle) {
  const auto stream = device.stream(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const HostFill here = on_host(device, request);
  if (here.error != cudaSuccess || here.to == nullptr) return here.error;
  return enqueue(device, *stream, request).error;
}

}  // namespace pkb::virtual_gpu
