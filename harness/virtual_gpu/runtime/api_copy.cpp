// SPDX-License-Identifier: Apache-2.0
// Copies and fills.
#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/copy.h"

using namespace pkb::virtual_gpu;

namespace {

Copy bytes(void* to, const void* from, std::size_t count, cudaMemcpyKind kind) {
  return {.to = to, .from = from, .width = count, .kind = kind};
}

Copy rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
          std::size_t height, cudaMemcpyKind kind) {
  return {.to = to, .from = from, .width = width, .height = height, .to_pitch = to_pitch, .from_pitch = from_pitch,
          .kind = kind};
}

// A process has one device, whose number is 0; the memory of its peers is mapped here and copied like its own.
cudaError_t copy_between_devices(Copy request, int to_device, int from_device, cudaStream_t stream, Waiting waiting) {
  return call([&](Device& device) {
    if (to_device != 0 || from_device != 0) return cudaErrorInvalidDevice;
    return copy(device, request, stream, waiting);
  });
}

enum class Direction { to_symbol, from_symbol };

cudaError_t copy_symbol(Direction direction, const void* symbol, void* other, std::size_t count, std::size_t offset,
                        cudaMemcpyKind kind, cudaStream_t stream, Waiting waiting) {
  return call([&](Device& device) {
    const VariableEntry* variable = device.modules().variable(symbol);
    if (variable == nullptr) return cudaErrorInvalidSymbol;
    if (offset > variable->bytes || count > variable->bytes - offset) return cudaErrorInvalidValue;
    void* address = nullptr;
    if (const cudaError_t error = cudaGetSymbolAddress(&address, symbol); error != cudaSuccess) return error;
    void* const inside = static_cast<std::byte*>(address) + offset;
    return direction == Direction::to_symbol ? copy(device, bytes(inside, other, count, kind), stream, waiting)
                                             : copy(device, bytes(other, inside, count, kind), stream, waiting);
  });
}

}  // namespace

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t count, cudaMemcpyKind kind) {
  return call([&](Device& device) { return copy(device, bytes(to, from, count, kind), nullptr, Waiting::as_memcpy); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](Device& device) {
    return copy(device, bytes(to, from, count, kind), stream, Waiting::as_memcpy_async);
  });
}

cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  return call([&](Device& device) {
    return copy(device, rows(to, to_pitch, from, from_pitch, width, height, kind), nullptr, Waiting::as_memcpy);
  });
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return call([&](Device& device) {
    return copy(device, rows(to, to_pitch, from, from_pitch, width, height, kind), stream, Waiting::as_memcpy_async);
  });
}

cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t count) {
  return copy_between_devices(bytes(to, from, count, cudaMemcpyDeviceToDevice), to_device, from_device, nullptr,
                              Waiting::as_memcpy);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t count,
                                cudaStream_t stream) {
  return copy_between_devices(bytes(to, from, count, cudaMemcpyDeviceToDevice), to_device, from_device, stream,
                              Waiting::as_memcpy_async);
}

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t count, std::size_t offset,
                               cudaMemcpyKind kind) {
  return copy_symbol(Direction::to_symbol, symbol, const_cast<void*>(from), count, offset, kind, nullptr,
                     Waiting::as_memcpy);
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t count, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(Direction::to_symbol, symbol, const_cast<void*>(from), count, offset, kind, stream,
                     Waiting::as_memcpy_async);
}

cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t count, std::size_t offset,
                                 cudaMemcpyKind kind) {
  return copy_symbol(Direction::from_symbol, symbol, to, count, offset, kind, nullptr, Waiting::as_memcpy);
}

cudaError_t cudaMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t count, std::size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_symbol(Direction::from_symbol, symbol, to, count, offset, kind, stream, Waiting::as_memcpy_async);
}

cudaError_t cudaMemset(void* to, int value, std::size_t count) { return cudaMemsetAsync(to, value, count, nullptr); }

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t count, cudaStream_t stream) {
  return call([&](Device& device) { return fill(device, {.to = to, .value = static_cast<unsigned>(value), .width = count}, stream); });
}

cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  return cudaMemset2DAsync(to, pitch, value, width, height, nullptr);
}

cudaError_t cudaMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  return call([&](Device& device) {
    return fill(device,
                {.to = to, .value = static_cast<unsigned>(value), .width = width, .height = height, .pitch = pitch},
                stream);
  });
}
