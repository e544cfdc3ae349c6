// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "harness/virtual_gpu/runtime/device.h"

namespace pkb::virtual_gpu {

struct LaunchRequest {
  const void* function = nullptr;  ///< the host's stub or a cudaKernel_t
  dim3 grid = {}, block = {};
  std::optional<dim3> cluster = std::nullopt;
  void** arguments = nullptr;
  std::size_t dynamic_shared = 0;
  cudaStream_t stream = nullptr;
  bool cooperative = false;
  bool programmatic = false;  ///< Launch::programmatic
};

/// Checks a launch as the CUDA runtime does and submits it.
cudaError_t launch(Device& device, const LaunchRequest& request);

/// The same without submitting it: `work` lacks what `complete` adds each time that it is.
cudaError_t prepare(Device& device, const LaunchRequest& request, Launch& work);
/// Gives a prepared launch its number and the memory of its own. @returns an error when there is none
cudaError_t complete(Device& device, const LaunchRequest& request, Launch& work);

/// The kernel behind a host function, decoded. `kernel` is null when that failed and `error` says how.
struct FoundKernel {
  KernelEntry* entry = nullptr;
  std::shared_ptr<const Kernel> kernel = nullptr;
  cudaError_t error = cudaSuccess;
};
FoundKernel find_kernel(Device& device, const void* function);

/// Dynamic shared memory that a launch of the kernel may ask for.
std::size_t allowed_dynamic_shared(const Chip& chip, const FoundKernel& found);

}  // namespace pkb::virtual_gpu
