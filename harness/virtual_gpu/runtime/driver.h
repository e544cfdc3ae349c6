// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <new>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/device.h"

/// The functions of the CUDA driver that candidates reach through cudaGetDriverEntryPoint. They answer like the
/// runtime's, but leave the thread's last error alone.
namespace pkb::virtual_gpu {

/// The driver's code for an error of the runtime: the same number where both have it.
CUresult driver_code(cudaError_t error);

/// Runs `body(device)`, which returns a CUresult.
template <class Body>
CUresult driver_call_always(Body&& body) noexcept {
  try {
    return body(device());
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception&) {
    return CUDA_ERROR_UNKNOWN;
  }
}

/// The same for functions that need a working context.
template <class Body>
CUresult driver_call(Body&& body) noexcept {
  return driver_call_always([&](Device& device) {
    const cudaError_t sticky = device.sticky_error();
    return sticky != cudaSuccess ? driver_code(sticky) : body(device);
  });
}

/// Calls a function of the runtime without touching the last error.
template <class Function, class... Arguments>
CUresult by_runtime(Function function, Arguments... arguments) noexcept {
  const cudaError_t before = cudaGetLastError();
  const cudaError_t error = function(arguments...);
  restore_last_error(before);
  return driver_code(error);
}

inline void* pointer_of(CUdeviceptr address) { return reinterpret_cast<void*>(address); }
inline CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// The function of the driver with this name, or null.
void* driver_function(const char* name);

/// Drops all memory that cuMemCreate made.
void forget_physical_memory();

}  // namespace pkb::virtual_gpu
