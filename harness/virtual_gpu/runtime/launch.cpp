// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/launch.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "harness/virtual_gpu/exec/demangle.h"
#include "harness/virtual_gpu/runtime/cluster.h"
#include "harness/virtual_gpu/runtime/operation.h"

namespace pkb::virtual_gpu {
namespace {

constexpr std::uint32_t kMaxGridX = std::numeric_limits<std::int32_t>::max(), kMaxGridYZ = 65535;

Dim3 dimensions(const dim3& from) { return {from.x, from.y, from.z}; }

bool valid_grid(const dim3& grid) {
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= kMaxGridX && grid.y <= kMaxGridYZ && grid.z <= kMaxGridYZ;
}

bool valid_block(const Chip& chip, const dim3& block) {
  const auto most = static_cast<std::uint64_t>(chip.max_block_threads);
  return block.x > 0 && block.y > 0 && block.z > 0 && block.x <= most && block.y <= most && block.z <= 64 &&
         dimensions(block).count() <= most;
}

std::vector<std::byte> pack(const Kernel& kernel, void** arguments) {
  std::vector<std::byte> buffer(kernel.parameter_bytes);
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    std::memcpy(buffer.data() + kernel.parameters[i].offset, arguments[i], kernel.parameters[i].bytes);
  }
  return buffer;
}

/// How many blocks the chip holds at once, in clusters of `cluster`.
std::uint64_t most_resident(const Chip& chip, const BlockShape& shape, std::uint64_t cluster) {
  return cluster > 1 ? static_cast<std::uint64_t>(active_clusters(chip, shape, cluster)) * cluster
                     : static_cast<std::uint64_t>(blocks_per_sm(chip, shape)) *
                           static_cast<std::uint64_t>(chip.sm_count);
}

/// Gives a cooperative launch the memory of its grid's barrier. False when there is none.
bool give_workspace(Device& device, Launch& work) {
  constexpr std::uint64_t kBytes = 256;
  void* memory = device.memory().allocate({.bytes = kBytes, .name = "workspace of a cooperative launch"});
  if (memory == nullptr) return false;
  std::memset(device.memory().find(memory)->host(memory), 0, kBytes);
  work.owned = {memory, [&device](const void* base) { device.memory().release(base, MemoryKind::device); }};
  work.grid_workspace = reinterpret_cast<std::uint64_t>(memory);
  return true;
}

}  // namespace

FoundKernel find_kernel(Device& device, const void* function) {
  if (function == nullptr) return {.error = cudaErrorInvalidDeviceFunction};
  FoundKernel found{.entry = device.modules().kernel(function)};
  if (found.entry == nullptr) return {.error = cudaErrorInvalidResourceHandle};
  std::lock_guard lock(device.modules().mutex());
  try {
    found.kernel = found.entry->module->decode(*found.entry);
  } catch (const ModuleError& error) {
    Fault fault;
    fault.kind = Fault::Kind::unsupported;
    fault.kernel = demangled(found.entry->name);
    fault.text = error.what();
    device.fail(fault);
    found.error = cudaErrorNotSupported;
  }
  return found;
}

std::size_t allowed_dynamic_shared(const Chip& chip, const FoundKernel& found) {
  if (found.entry->max_dynamic_shared >= 0) return static_cast<std::size_t>(found.entry->max_dynamic_shared);
  const auto limit = static_cast<std::size_t>(chip.default_shared_per_block);
  return limit - std::min(limit, found.kernel->static_shared);
}

cudaError_t prepare(Device& device, const LaunchRequest& request, Launch& work) {
  const Chip& chip = device.chip();
  if (!valid_grid(request.grid) || !valid_block(chip, request.block)) return cudaErrorInvalidConfiguration;
  const FoundKernel found = find_kernel(device, request.function);
  if (!found.kernel) return found.error;
  const Kernel& kernel = *found.kernel;
  const std::uint64_t threads = dimensions(request.block).count();
  if (threads > kernel.max_threads) return cudaErrorInvalidValue;
  if (request.dynamic_shared > allowed_dynamic_shared(chip, found)) return cudaErrorInvalidValue;
  const BlockShape shape = shape_of(chip, kernel, threads, request.dynamic_shared);
  if (blocks_per_sm(chip, shape) == 0) return cudaErrorLaunchOutOfResources;
  Clusters clusters;
  Dim3 grid = dimensions(request.grid);
  if (const auto error = find_clusters(chip, found, request.cluster, clusters); error != cudaSuccess) return error;
  if (const auto error = count_blocks(kernel, clusters, grid); error != cudaSuccess) return error;
  const std::uint64_t capacity = most_resident(chip, shape, clusters.size.count());
  if (capacity == 0) return cudaErrorInvalidClusterSize;
  if (request.cooperative && grid.count() > capacity) return cudaErrorCooperativeLaunchTooLarge;
  if (request.arguments == nullptr && !kernel.parameters.empty()) return cudaErrorInvalidValue;

  work.kernel = found.kernel;
  work.grid = grid;
  work.cluster = clusters.size;
  work.explicit_cluster = clusters.is_explicit;
  work.programmatic = request.programmatic;
  work.block = dimensions(request.block);
  work.dynamic_shared = static_cast<std::uint32_t>(request.dynamic_shared);
  work.parameters = pack(kernel, request.arguments);
  if (kernel.allocates && (work.heap = device.heap()) == nullptr) return cudaErrorMemoryAllocation;
  work.ranks = device.setup().ranks;
  work.rank = device.setup().rank;
  work.sm_count = static_cast<std::uint32_t>(chip.sm_count);
  return cudaSuccess;
}

cudaError_t complete(Device& device, const LaunchRequest& request, Launch& work) {
  work.id = device.next_launch_id();
  return request.cooperative && !give_workspace(device, work) ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t launch(Device& device, const LaunchRequest& request) {
  const auto stream = device.stream(request.stream);
  if (!stream) return cudaErrorInvalidResourceHandle;
  KernelCall call{.request = request, .work = {}};
  if (const cudaError_t error = prepare(device, request, call.work); error != cudaSuccess) return error;
  call.request.arguments = nullptr;
  return enqueue(device, *stream, std::move(call)).error;
}

}  // namespace pkb::virtual_gpu
