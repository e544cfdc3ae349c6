// SPDX-License-Identifier: Apache-2.0
// Copies and fills of boxes, and many copies at once.
#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/copy.h"

using namespace pkb::virtual_gpu;

namespace {

cudaError_t copy_box(const cudaMemcpy3DParms* parameters, cudaStream_t stream, Waiting waiting) {
  return call([&](Device& device) {
    if (parameters == nullptr) return cudaErrorInvalidValue;
    const auto box = box_copy(*parameters);
    return box ? copy(device, *box, stream, waiting) : device.unsupported("copies of CUDA arrays");
  });
}

// The process's one device is both.
cudaError_t copy_box(const cudaMemcpy3DPeerParms* peer, cudaStream_t stream, Waiting waiting) {
  if (peer == nullptr) return record(cudaErrorInvalidValue);
  if (peer->srcDevice != 0 || peer->dstDevice != 0) return record(cudaErrorInvalidDevice);
  cudaMemcpy3DParms parameters{};
  parameters.srcArray = peer->srcArray;
  parameters.srcPos = peer->srcPos;
  parameters.srcPtr = peer->srcPtr;
  parameters.dstArray = peer->dstArray;
  parameters.dstPos = peer->dstPos;
  parameters.dstPtr = peer->dstPtr;
  parameters.extent = peer->extent;
  parameters.kind = cudaMemcpyDeviceToDevice;
  return copy_box(&parameters, stream, waiting);
}

}  // namespace

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return copy_box(parameters, nullptr, Waiting::as_memcpy);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return copy_box(parameters, stream, Waiting::as_memcpy_async);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return copy_box(parameters, nullptr, Waiting::as_memcpy);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return copy_box(parameters, stream, Waiting::as_memcpy_async);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return call([&](Device& device) {
    return fill(device,
                {.to = to.ptr,
                 .value = static_cast<unsigned>(value),
                 .width = extent.width,
                 .height = extent.height,
                 .depth = extent.depth,
                 .pitch = to.pitch,
                 .slice = to.pitch * to.ysize},
                stream);
  });
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return cudaMemset3DAsync(to, value, extent, nullptr);
}

// The attributes say when sources are read and where memory lies; reading in stream order satisfies them all.
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count,
                                 cudaMemcpyAttributes* attributes, std::size_t* attribute_starts,
                                 std::size_t attribute_count, cudaStream_t stream) {
  return call([&](Device& device) {
    if (to == nullptr || from == nullptr || bytes == nullptr || count == 0 || attributes == nullptr ||
        attribute_starts == nullptr || attribute_count == 0 || attribute_starts[0] != 0 || stream == nullptr) {
      return cudaErrorInvalidValue;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Copy each{.to = to[i], .from = from[i], .width = bytes[i]};
      if (const cudaError_t error = copy(device, each, stream, Waiting::as_memcpy_async); error != cudaSuccess) {
        return error;
      }
    }
    return cudaSuccess;
  });
}
