// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "harness/virtual_gpu/runtime/device.h"

namespace pkb::virtual_gpu {

/// A box of bytes to move: `depth` slices of `height` rows. Pitches are distances between rows, slices between
/// slices; where there is one of them its distance does not matter.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t to_pitch = 0, from_pitch = 0, to_slice = 0, from_slice = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  std::shared_ptr<const std::vector<std::byte>> staged = nullptr;  ///< what is read in place of `from`
};

/// A copy by the addresses of this process, or why CUDA refuses it.
struct HostCopy {
  cudaError_t error = cudaSuccess;
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::optional<MemoryRange> to_range = {}, from_range = {};
  Copy box = {};

  void run() const;
  std::vector<check::Checker::Touch> touches(Device& device) const;
};
/// Checks a copy against the device's memory as the CUDA driver does.
HostCopy on_host(Device& device, const Copy& copy);

/// Whether the host waits as cudaMemcpy does, or as cudaMemcpyAsync does.
enum class Waiting { as_memcpy, as_memcpy_async };
cudaError_t copy(Device& device, Copy request, cudaStream_t stream, Waiting waiting);

/// A box between two pitched pointers; nothing when one side is an array.
std::optional<Copy> box_copy(const cudaMemcpy3DParms& parameters);
/// The same box as cudaMemcpy3D takes it.
cudaMemcpy3DParms parameters_of(const Copy& copy);

/// Elements of 1, 2 or 4 bytes, each the low bytes of `value`.
struct Fill {
  void* to = nullptr;
  unsigned value = 0;
  std::size_t width = 0;  ///< in bytes
  std::size_t height = 1, depth = 1, pitch = 0, slice = 0;
  unsigned element = 1;
};
struct HostFill {
  cudaError_t error = cudaSuccess;
  std::byte* to = nullptr;
  Fill box = {};

  void run() const;
  std::vector<check::Checker::Touch> touches(Device& device) const;
};
HostFill on_host(Device& device, const Fill& fill);
cudaError_t fill(Device& device, const Fill& request, cudaStream_t stream);

}  // namespace pkb::virtual_gpu
