// SPDX-License-Identifier: Apache-2.0
// Memory handles between ranks. Every process has mapped the segments of all ranks already, so that a handle only says
// which one is meant; memory that a rank allocated for itself cannot be given away. As on a real GPU a handle is of
// the whole allocation, whichever pointer into it it was asked for.
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>

#include "harness/virtual_gpu/runtime/call.h"
#include "harness/virtual_gpu/runtime/device.h"

using namespace pkb::virtual_gpu;

namespace {

/// FNV-1a: segments have the same names in all processes.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// What a cudaIpcMemHandle_t holds.
struct Handle {
  static constexpr std::uint64_t kMark = 0x656c646e61686370;
  std::uint64_t mark = kMark, name = 0, bytes = 0;
  std::int64_t owner = 0;
  std::array<std::uint64_t, 4> unused{};

  bool means(const Allocation& segment) const {
    return segment.owner == owner && segment.bytes == bytes && hash_of(segment.name) == name;
  }
};
static_assert(sizeof(Handle) == sizeof(cudaIpcMemHandle_t));

/// How often each segment was opened.
struct Opened {
  std::mutex mutex;
  std::map<std::uint64_t, int> times;
};
Opened& opened() {
  static auto* const all = new Opened;  // never destroyed, like the device
  return *all;
}

}  // namespace

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return call([&](Device& device) {
    const auto range = device.memory().find(pointer);
    if (handle == nullptr || !range || !is_device(range->kind)) return cudaErrorInvalidValue;
    const auto segments = device.memory().segments();
    const auto segment = std::ranges::find(segments, range->base, &Allocation::base);
    if (segment == segments.end()) {
      return device.unsupported(
          "cudaIpcGetMemHandle of memory that is a rank's own; other ranks reach tensors and what "
          "pkb::Context::symmetric gave");
    }
    if (segment->owner != device.setup().rank) return cudaErrorInvalidValue;
    const Handle made{.name = hash_of(segment->name),
                      .bytes = segment->bytes,
                      .owner = segment->owner};
    *handle = std::bit_cast<cudaIpcMemHandle_t>(made);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
  return call([&](Device& device) {
    const auto wanted = std::bit_cast<Handle>(handle);
    if (pointer == nullptr || flags != cudaIpcMemLazyEnablePeerAccess || wanted.mark != Handle::kMark) {
      return cudaErrorInvalidValue;
    }
    if (wanted.owner == device.setup().rank) return cudaErrorDeviceUninitialized;
    const auto segments = device.memory().segments();
    const auto segment = std::ranges::find_if(segments, [&](const Allocation& each) { return wanted.means(each); });
    if (segment == segments.end()) return cudaErrorInvalidValue;
    std::lock_guard lock(opened().mutex);
    ++opened().times[segment->base];
    *pointer = reinterpret_cast<void*>(segment->base);
    return cudaSuccess;
  });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return call([&](Device& device) {
    device.engine().wait_all();
    std::lock_guard lock(opened().mutex);
    const auto found = opened().times.find(reinterpret_cast<std::uintptr_t>(pointer));
    if (found == opened().times.end()) return cudaErrorInvalidValue;
    if (--found->second == 0) opened().times.erase(found);
    return cudaSuccess;
  });
}
