// SPDX-License-Identifier: Apache-2.0
// Memory pools. All give memory of the device at once and take it back when it is freed, so their tuning has no
// effect here; the amounts they tell are those of the whole device.
#include <memory>
#include <mutex>
#include <unordered_map>

#include "harness/virtual_gpu/runtime/call.h"

using namespace pkb::virtual_gpu;

namespace {

/// What a cudaMemPool_t points to.
struct Pool {
  int reuse_events = 1, reuse_opportunistic = 1, reuse_internal = 1;
  std::uint64_t release_threshold = 0;
};

struct Pools {
  std::mutex mutex;
  Pool* const original = new Pool;
  std::unordered_map<cudaMemPool_t, std::unique_ptr<Pool>> all;
  cudaMemPool_t current;

  Pools() : current(reinterpret_cast<cudaMemPool_t>(original)) { all.emplace(current, original); }
};
Pools& pools() {
  static auto* const made = new Pools;  // never destroyed, like the device
  return *made;
}

template <class Body>
cudaError_t with_pools(Body&& body) {
  return call([&](Device& device) {
    const std::lock_guard lock(pools().mutex);
    return body(device, pools());
  });
}

template <class Body>
cudaError_t with_pool(cudaMemPool_t handle, Body&& body) {
  return with_pools([&](Device& device, Pools& known) {
    const auto found = known.all.find(handle);
    return found == known.all.end() ? cudaErrorInvalidValue : body(device, *found->second);
  });
}

bool is_here(const cudaMemLocation& location) {
  return location.type == cudaMemLocationTypeDevice && location.id == 0;
}

cudaError_t tell(cudaMemPool_t* to, int index, bool current) {
  return with_pools([&](Device&, Pools& known) {
    if (to == nullptr) return cudaErrorInvalidValue;
    if (index != 0) return cudaErrorInvalidDevice;
    *to = current ? known.current : reinterpret_cast<cudaMemPool_t>(known.original);
    return cudaSuccess;
  });
}

// Where memory lies and what kind it is, as the newer functions say it.
cudaError_t tell(cudaMemPool_t* to, const cudaMemLocation* location, cudaMemAllocationType type, bool current) {
  if (location == nullptr || type != cudaMemAllocationTypePinned || !is_here(*location)) {
    return record(cudaErrorInvalidValue);
  }
  return tell(to, 0, current);
}

/// The place of a pool's attribute that an int holds; null for others.
int* reuse_of(Pool& pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return &pool.reuse_events;
    case cudaMemPoolReuseAllowOpportunistic: return &pool.reuse_opportunistic;
    case cudaMemPoolReuseAllowInternalDependencies: return &pool.reuse_internal;
    default: return nullptr;
  }
}

}  // namespace

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int index) { return tell(pool, index, false); }
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int index) { return tell(pool, index, true); }
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return tell(pool, location, type, false);
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return tell(pool, location, type, true);
}

cudaError_t cudaDeviceSetMemPool(int index, cudaMemPool_t pool) {
  return with_pools([&](Device&, Pools& known) {
    if (index != 0) return cudaErrorInvalidDevice;
    if (!known.all.contains(pool)) return cudaErrorInvalidValue;
    known.current = pool;
    return cudaSuccess;
  });
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  if (location == nullptr || type != cudaMemAllocationTypePinned || !is_here(*location)) {
    return record(cudaErrorInvalidValue);
  }
  return cudaDeviceSetMemPool(0, pool);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* to, const cudaMemPoolProps* properties) {
  return with_pools([&](Device& device, Pools& known) {
    if (to == nullptr || properties == nullptr || properties->allocType != cudaMemAllocationTypePinned) {
      return cudaErrorInvalidValue;
    }
    if (!is_here(properties->location)) return device.unsupported("memory pools outside the device");
    if (properties->handleTypes != cudaMemHandleTypeNone) {
      return device.unsupported("memory pools shared between processes");
    }
    auto pool = std::make_unique<Pool>();
    *to = reinterpret_cast<cudaMemPool_t>(pool.get());
    known.all.emplace(*to, std::move(pool));
    return cudaSuccess;
  });
}

// What was allocated from it stays.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return with_pools([&](Device&, Pools& known) {
    const auto original = reinterpret_cast<cudaMemPool_t>(known.original);
    if (pool == original || known.all.erase(pool) == 0) return cudaErrorInvalidValue;
    if (known.current == pool) known.current = original;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return with_pool(pool, [](Device&, Pool&) { return cudaSuccess; });
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted, std::size_t count) {
  return with_pool(pool, [&](Device&, Pool&) {
    if (count > 0 && wanted == nullptr) return cudaErrorInvalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      if (!is_here(wanted[i].location)) return cudaErrorInvalidDevice;
      // A device always accesses its own memory.
      if (wanted[i].flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return with_pool(pool, [&](Device&, Pool&) {
    if (flags == nullptr || location == nullptr) return cudaErrorInvalidValue;
    if (!is_here(*location)) return cudaErrorInvalidDevice;
    *flags = cudaMemAccessFlagsProtReadWrite;
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool(handle, [&](Device&, Pool& pool) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (int* const reuse = reuse_of(pool, attribute)) *reuse = *static_cast<int*>(value);
    if (attribute == cudaMemPoolAttrReleaseThreshold) pool.release_threshold = *static_cast<std::uint64_t*>(value);
    return cudaSuccess;
  });
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  return with_pool(handle, [&](Device& device, Pool& pool) {
    if (value == nullptr) return cudaErrorInvalidValue;
    if (const int* const reuse = reuse_of(pool, attribute)) {
      *static_cast<int*>(value) = *reuse;
      return cudaSuccess;
    }
    switch (static_cast<int>(attribute)) {
      case cudaMemPoolAttrReleaseThreshold: *static_cast<std::uint64_t*>(value) = pool.release_threshold; break;
      case cudaMemPoolAttrReservedMemCurrent:
      case cudaMemPoolAttrReservedMemHigh:
      case cudaMemPoolAttrUsedMemCurrent:
      case cudaMemPoolAttrUsedMemHigh: *static_cast<std::uint64_t*>(value) = device.memory().used(); break;
      default: return cudaErrorInvalidValue;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  const cudaError_t error = with_pool(pool, [](Device&, Pool&) { return cudaSuccess; });
  return error != cudaSuccess ? error : cudaMallocAsync(pointer, bytes, stream);
}
