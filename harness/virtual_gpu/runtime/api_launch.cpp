// SPDX-License-Identifier: Apache-2.0
// Launches: the triple-chevron protocol of nvcc's host code and the calls that take a kernel.
#include <fmt/format.h>

#include <vector>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/launch.h"

using namespace pkb::virtual_gpu;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared;
  cudaStream_t stream;
};
// A stack, since evaluating the arguments of one launch may launch another.
thread_local std::vector<Configuration> configurations;

cudaError_t launch_with_attributes(Device& device, LaunchRequest request, const cudaLaunchConfig_t& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    switch (static_cast<int>(attribute.id)) {
      case cudaLaunchAttributeCooperative: request.cooperative = attribute.val.cooperative != 0; break;
      case cudaLaunchAttributeClusterDimension:
        request.cluster = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        request.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      // Without effect on what a kernel computes. Clusters of a preferred size are a chip's to choose.
      case cudaLaunchAttributeIgnore:
      case cudaLaunchAttributeAccessPolicyWindow:
      case cudaLaunchAttributeSynchronizationPolicy:
      case cudaLaunchAttributeClusterSchedulingPolicyPreference:
      case cudaLaunchAttributePreferredClusterDimension:
      case cudaLaunchAttributePriority:
      case cudaLaunchAttributeMemSyncDomainMap:
      case cudaLaunchAttributeMemSyncDomain:
      case cudaLaunchAttributePreferredSharedMemoryCarveout: break;
      default:
        return device.unsupported(fmt::format("launch attribute {} of cudaLaunchKernelExC",
                                              static_cast<int>(attribute.id)));
    }
  }
  return launch(device, request);
}

}  // namespace

extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

extern "C" cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return record(cudaErrorMissingConfiguration);
  const Configuration& top = configurations.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared,
                             cudaStream_t stream) {
  return call([&](Device& device) {
    return launch(device, {.function = function, .grid = grid, .block = block, .arguments = arguments,
                           .dynamic_shared = shared, .stream = stream});
  });
}

// <<<...>>> says invalid value where cudaLaunchKernel says invalid configuration (CUDA 13.0 on an H200).
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                          std::size_t shared, cudaStream_t stream) {
  return call([&](Device& device) {
    const cudaError_t error = launch(device, {.function = kernel, .grid = grid, .block = block,
                                              .arguments = arguments, .dynamic_shared = shared, .stream = stream});
    return error == cudaErrorInvalidConfiguration ? cudaErrorInvalidValue : error;
  });
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared, cudaStream_t stream) {
  return call([&](Device& device) {
    return launch(device, {.function = function, .grid = grid, .block = block, .arguments = arguments,
                           .dynamic_shared = shared, .stream = stream, .cooperative = true});
  });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  return call([&](Device& device) {
    if (config == nullptr) return cudaErrorInvalidValue;
    return launch_with_attributes(device,
                                  {.function = function, .grid = config->gridDim, .block = config->blockDim,
                                   .arguments = arguments, .dynamic_shared = config->dynamicSmemBytes,
                                   .stream = config->stream},
                                  *config);
  });
}
