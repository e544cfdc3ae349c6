// SPDX-License-Identifier: Apache-2.0
// Which functions of the driver there are, by name.
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/driver.h"
#include "harness/virtual_gpu/runtime/tensor_map_encode.h"

using namespace pkb::virtual_gpu;

namespace {

// A name in cuda.h may be a macro for the newest version of its function, which is what the table holds.
#define PKB_DRIVER(name) {#name, reinterpret_cast<void*>(&name)}
const std::unordered_map<std::string_view, void*>& functions() {
  static const std::unordered_map<std::string_view, void*> all = {
      PKB_DRIVER(cuInit),
      PKB_DRIVER(cuDriverGetVersion),
      PKB_DRIVER(cuGetErrorName),
      PKB_DRIVER(cuGetErrorString),
      PKB_DRIVER(cuGetProcAddress),
      PKB_DRIVER(cuDeviceGet),
      PKB_DRIVER(cuDeviceGetCount),
      PKB_DRIVER(cuDeviceGetName),
      PKB_DRIVER(cuDeviceGetAttribute),
      PKB_DRIVER(cuDeviceTotalMem),
      PKB_DRIVER(cuDevicePrimaryCtxRetain),
      PKB_DRIVER(cuDevicePrimaryCtxRelease),
      PKB_DRIVER(cuCtxGetCurrent),
      PKB_DRIVER(cuCtxSetCurrent),
      PKB_DRIVER(cuCtxGetDevice),
      PKB_DRIVER(cuCtxSynchronize),
      PKB_DRIVER(cuMemAlloc),
      PKB_DRIVER(cuMemFree),
      PKB_DRIVER(cuMemGetInfo),
      PKB_DRIVER(cuMemGetAddressRange),
      PKB_DRIVER(cuMemHostGetDevicePointer),
      PKB_DRIVER(cuMemcpy),
      PKB_DRIVER(cuMemcpyAsync),
      PKB_DRIVER(cuMemcpyHtoD),
      PKB_DRIVER(cuMemcpyDtoH),
      PKB_DRIVER(cuMemcpyDtoD),
      PKB_DRIVER(cuMemcpyHtoDAsync),
      PKB_DRIVER(cuMemcpyDtoHAsync),
      PKB_DRIVER(cuMemcpyDtoDAsync),
      PKB_DRIVER(cuMemsetD8),
      PKB_DRIVER(cuMemsetD32),
      PKB_DRIVER(cuMemsetD8Async),
      PKB_DRIVER(cuMemsetD32Async),
      PKB_DRIVER(cuPointerGetAttribute),
      PKB_DRIVER(cuMemGetAllocationGranularity),
      PKB_DRIVER(cuMemCreate),
      PKB_DRIVER(cuMemRelease),
      PKB_DRIVER(cuMemAddressReserve),
      PKB_DRIVER(cuMemAddressFree),
      PKB_DRIVER(cuMemMap),
      PKB_DRIVER(cuMemUnmap),
      PKB_DRIVER(cuMemSetAccess),
      PKB_DRIVER(cuMemGetAccess),
      PKB_DRIVER(cuMemExportToShareableHandle),
      PKB_DRIVER(cuMemImportFromShareableHandle),
      PKB_DRIVER(cuMemGetAllocationPropertiesFromHandle),
      PKB_DRIVER(cuMemRetainAllocationHandle),
      PKB_DRIVER(cuStreamWriteValue32),
      PKB_DRIVER(cuStreamWriteValue64),
      PKB_DRIVER(cuStreamWaitValue32),
      PKB_DRIVER(cuStreamWaitValue64),
      PKB_DRIVER(cuStreamBatchMemOp),
      PKB_DRIVER(cuStreamSynchronize),
      PKB_DRIVER(cuStreamQuery),
      PKB_DRIVER(cuStreamWaitEvent),
      PKB_DRIVER(cuEventRecord),
      PKB_DRIVER(cuLaunchKernel),
      PKB_DRIVER(cuLaunchKernelEx),
      PKB_DRIVER(cuLaunchCooperativeKernel),
      PKB_DRIVER(cuFuncGetAttribute),
      PKB_DRIVER(cuFuncSetAttribute),
      PKB_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor),
      PKB_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags),
      {"cuTensorMapEncodeTiled", reinterpret_cast<void*>(&encode_tiled)},
      {"cuTensorMapEncodeIm2col", reinterpret_cast<void*>(&encode_im2col)},
      {"cuTensorMapEncodeIm2colWide", reinterpret_cast<void*>(&encode_im2col_wide)},
  };
  return all;
}
#undef PKB_DRIVER

/// The function of that name, as the application asks for it, or what the virtual GPU lacks.
cudaError_t look_up(Device& device, const char* name, void** function) {
  *function = driver_function(name);
  if (*function != nullptr) return cudaSuccess;
  // Objects of several devices need descriptors, which ranks have no way to pass to each other.
  const bool multicast = std::string_view(name).starts_with("cuMulticast");
  return device.unsupported(std::string("the driver's ") + name +
                            (multicast ? "; pkb::Context::multicast gives multicast addresses" : ""));
}

}  // namespace

namespace pkb::virtual_gpu {

void* driver_function(const char* name) {
  const auto found = functions().find(name);
  return found == functions().end() ? nullptr : found->second;
}

}  // namespace pkb::virtual_gpu

CUresult cuGetProcAddress(const char* symbol, void** function, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  return driver_call_always([&](Device& device) {
    if (symbol == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const bool found = look_up(device, symbol, function) == cudaSuccess;
    if (status != nullptr) *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return call([&](Device& device) {
    if (symbol == nullptr || function == nullptr) return cudaErrorInvalidValue;
    const cudaError_t found = look_up(device, symbol, function);
    if (status != nullptr) {
      *status = found == cudaSuccess ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    }
    return found;
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}
