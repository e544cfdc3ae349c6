// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "harness/virtual_gpu/runtime/device.h"

namespace pkb::virtual_gpu {

/// Rows of bytes to move, or one when `height` is 1. Pitches are distances between rows.
struct Copy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t width = 0, height = 1;
  std::size_t to_pitch = 0, from_pitch = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
};

/// Whether the host waits as cudaMemcpy does, or as cudaMemcpyAsync does.
enum class Waiting { as_memcpy, as_memcpy_async };

/// Checks a copy against the device's memory as the CUDA driver does and submits it.
cudaError_t copy(Device& device, Copy request, cudaStream_t stream, Waiting waiting);

struct Fill {
  void* to = nullptr;
  int value = 0;
  std::size_t width = 0, height = 1, pitch = 0;
};
cudaError_t fill(Device& device, const Fill& request, cudaStream_t stream);

}  // namespace pkb::virtual_gpu
