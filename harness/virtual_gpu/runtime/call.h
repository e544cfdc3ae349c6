// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <new>

#include "harness/virtual_gpu/runtime/device.h"

/// How every exported runtime function runs.
namespace pkb::virtual_gpu {

/// Makes `error` the thread's last error, as every failing runtime function does. Returns it.
cudaError_t record(cudaError_t error);

/// Sets the thread's last error without an error having occurred.
void restore_last_error(cudaError_t error);

/// Runs `body(device)`, which returns a cudaError_t, and records what it returns.
template <class Body>
cudaError_t call_always(Body&& body) noexcept {
  try {
    return record(body(device()));
  } catch (const std::bad_alloc&) {
    return record(cudaErrorMemoryAllocation);
  } catch (const std::exception&) {
    return record(cudaErrorUnknown);
  }
}

/// The same for functions that need a working context: after a kernel's fault they all return its error.
template <class Body>
cudaError_t call(Body&& body) noexcept {
  return call_always([&](Device& device) {
    const cudaError_t sticky = device.sticky_error();
    return sticky != cudaSuccess ? sticky : body(device);
  });
}

/// `stream` as functions compiled with per-thread default streams mean it.
inline cudaStream_t per_thread(cudaStream_t stream) { return stream == nullptr ? cudaStreamPerThread : stream; }

}  // namespace pkb::virtual_gpu
