// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/cluster.h"

#include <algorithm>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/schedule/occupancy.h"

namespace pkb::virtual_gpu {
namespace {

std::uint64_t most_blocks(const Chip& chip, const FoundKernel& found) {
  const int most = found.entry->non_portable_cluster ? chip.max_cluster : chip.portable_cluster;
  const std::uint32_t own = found.kernel->max_cluster;
  return own == 0 ? static_cast<std::uint64_t>(most) : std::min<std::uint64_t>(static_cast<std::uint64_t>(most), own);
}

BlockShape shape_of(const Chip& chip, const FoundKernel& found, const cudaLaunchConfig_t& config) {
  const std::uint64_t threads = std::uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  return virtual_gpu::shape_of(chip, *found.kernel, threads, config.dynamicSmemBytes);
}

}  // namespace

cudaError_t find_clusters(const Chip& chip, const FoundKernel& found, const std::optional<dim3>& asked,
                          Clusters& clusters) {
  const Kernel& kernel = *found.kernel;
  const std::uint32_t* required = kernel.cluster[0] != 0 ? kernel.cluster : found.entry->cluster;
  clusters.is_explicit = true;
  if (required[0] != 0) {
    clusters.size = {required[0], std::max(required[1], 1u), std::max(required[2], 1u)};
    if (asked && (asked->x != clusters.size.x || asked->y != clusters.size.y || asked->z != clusters.size.z))
      return cudaErrorInvalidClusterSize;
  } else if (asked) {
    clusters.size = {asked->x, asked->y, asked->z};
  } else {
    clusters = {};
    if (kernel.explicit_cluster || found.entry->cluster_must_be_set) return cudaErrorInvalidClusterSize;
  }
  const std::uint64_t count = clusters.size.count();
  return count == 0 || count > most_blocks(chip, found) ? cudaErrorInvalidClusterSize : cudaSuccess;
}

cudaError_t count_blocks(const Kernel& kernel, const Clusters& clusters, Dim3& grid) {
  const Dim3& size = clusters.size;
  if (kernel.blocks_are_clusters) {
    grid = {grid.x * size.x, grid.y * size.y, grid.z * size.z};
    return cudaSuccess;
  }
  return grid.x % size.x == 0 && grid.y % size.y == 0 && grid.z % size.z == 0 ? cudaSuccess
                                                                             : cudaErrorInvalidClusterSize;
}

}  // namespace pkb::virtual_gpu

using namespace pkb::virtual_gpu;

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* function, const cudaLaunchConfig_t* config) {
  return call([&](Device& device) {
    const FoundKernel found = find_kernel(device, function);
    if (!found.kernel) return found.error;
    if (clusters == nullptr || config == nullptr) return cudaErrorInvalidValue;
    std::optional<dim3> asked;
    for (unsigned i = 0; i < config->numAttrs; ++i) {
      const cudaLaunchAttribute& attribute = config->attrs[i];
      if (attribute.id == cudaLaunchAttributeClusterDimension)
        asked = dim3(attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z);
    }
    Clusters found_clusters;
    if (const cudaError_t error = find_clusters(device.chip(), found, asked, found_clusters); error != cudaSuccess)
      return error;
    *clusters = active_clusters(device.chip(), shape_of(device.chip(), found, *config), found_clusters.size.count());
    return cudaSuccess;
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* function, const cudaLaunchConfig_t* config) {
  return call([&](Device& device) {
    const FoundKernel found = find_kernel(device, function);
    if (!found.kernel) return found.error;
    if (size == nullptr || config == nullptr) return cudaErrorInvalidValue;
    const BlockShape shape = shape_of(device.chip(), found, *config);
    std::uint64_t most = most_blocks(device.chip(), found);
    while (most > 0 && active_clusters(device.chip(), shape, most) == 0) --most;
    *size = static_cast<int>(most);
    return cudaSuccess;
  });
}
