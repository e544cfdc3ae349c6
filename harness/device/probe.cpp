// SPDX-License-Identifier: Apache-2.0
#include "harness/device/probe.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "harness/process/executable.h"

namespace pkb::device {
namespace {

std::string path_of(void* library) {
  link_map* map = nullptr;
  return ::dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? map->l_name : "";
}

}  // namespace

Probe probe() {
  Probe found;
  cudaRuntimeGetVersion(&found.runtime_version);
  found.mps_available = process::find_executable("nvidia-cuda-mps-control").has_value();
  // Left open: CUDA does not survive being unloaded.
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) {
    found.why_none = fmt::format("no NVIDIA driver: {}", ::dlerror());
    return found;
  }
  found.driver_library = path_of(driver);
  cudaDriverGetVersion(&found.driver_version);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    found.why_none = fmt::format("the driver shows no GPU: {}", cudaGetErrorString(error));
    return found;
  }
  using DeviceOf = int (*)(int*, int);
  using AttributeOf = int (*)(int*, int, int);
  constexpr int kExportsToDescriptor =
      103;  // CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
  const auto device_of = reinterpret_cast<DeviceOf>(::dlsym(driver, "cuDeviceGet"));
  const auto attribute_of = reinterpret_cast<AttributeOf>(::dlsym(driver, "cuDeviceGetAttribute"));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, ordinal) != cudaSuccess) continue;
    int device = 0, exports = 0;
    const bool asked = device_of != nullptr && attribute_of != nullptr && device_of(&device, ordinal) == 0 &&
                       attribute_of(&exports, kExportsToDescriptor, device) == 0;
    found.gpus.push_back({.name = properties.name,
                          .major = properties.major,
                          .minor = properties.minor,
                          .bytes = properties.totalGlobalMem,
                          .exports_memory = asked && exports != 0});
  }
  if (found.gpus.empty()) found.why_none = "the driver shows no GPU";
  return found;
}

}  // namespace pkb::device
