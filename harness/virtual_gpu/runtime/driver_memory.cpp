// SPDX-License-Identifier: Apache-2.0
// The driver's virtual memory management: memory without addresses, addresses without memory, and one mapped to the
// other. Memory is an anonymous file, so that its descriptor can be exported.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "harness/process/memory_file.h"
#include "harness/virtual_gpu/runtime/driver.h"

using namespace pkb::virtual_gpu;

namespace {

// As an H200 has it, minimum and recommended.
constexpr std::size_t kGranularity = std::size_t{2} << 20;

/// What a CUmemGenericAllocationHandle stands for; lives while a handle or a mapping does.
class PhysicalMemory {
 public:
  /// Null when there is no memory or the descriptor is none of ours.
  static std::shared_ptr<PhysicalMemory> open(pkb::FileDescriptor file, std::size_t bytes, CUmemAllocationProp properties) {
    void* const here = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file.get(), 0);
    if (here == MAP_FAILED) return nullptr;
    return std::shared_ptr<PhysicalMemory>(
        new PhysicalMemory(std::move(file), static_cast<std::byte*>(here), bytes, properties));
  }
  ~PhysicalMemory() {
    munmap(x_here, x_bytes);
    device().memory().refund(x_bytes);
  }
  PhysicalMemory(const PhysicalMemory&) = delete;
  PhysicalMemory& operator=(const PhysicalMemory&) = delete;

  std::byte* here() const { return x_here; }
  std::size_t bytes() const { return x_bytes; }
  int file() const { return x_file.get(); }
  const CUmemAllocationProp& properties() const { return x_properties; }

 private:
  PhysicalMemory(pkb::FileDescriptor file, std::byte* here, std::size_t bytes, CUmemAllocationProp properties)
      : x_file(std::move(file)), x_here(here), x_bytes(bytes), x_properties(properties) {}

  pkb::FileDescriptor x_file;
  std::byte* x_here;
  std::size_t x_bytes;
  CUmemAllocationProp x_properties;
};

struct Handle {
  std::shared_ptr<PhysicalMemory> memory;
  int uses = 1;
};
struct Mapping {
  std::shared_ptr<PhysicalMemory> memory;
  std::size_t bytes = 0, offset = 0;
  unsigned long long access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
};

/// All of them, by what the application knows them by.
struct Objects {
  std::mutex mutex;
  std::map<CUmemGenericAllocationHandle, Handle> handles;
  std::map<CUdeviceptr, std::size_t> reservations;
  std::map<CUdeviceptr, Mapping> mappings;
  CUmemGenericAllocationHandle last = 0;
  unsigned numbered = 0;
};
Objects& objects() {
  static auto* const all = new Objects;  // never destroyed, like the device
  return *all;
}

template <class Body>
CUresult with_objects(Body&& body) {
  return driver_call([&](Device& device) {
    const std::lock_guard lock(objects().mutex);
    return body(device, objects());
  });
}

bool is_whole(std::size_t bytes) { return bytes > 0 && bytes % kGranularity == 0; }

bool is_supported(const CUmemAllocationProp* p) {
  return p != nullptr && p->type == CU_MEM_ALLOCATION_TYPE_PINNED && p->location.type == CU_MEM_LOCATION_TYPE_DEVICE &&
         p->location.id == 0;
}

bool within(const std::map<CUdeviceptr, std::size_t>& reservations, CUdeviceptr address, std::size_t bytes) {
  auto next = reservations.upper_bound(address);
  if (next == reservations.begin()) return false;
  const auto& [base, size] = *--next;
  return address - base <= size && bytes <= size - (address - base);
}

CUmemGenericAllocationHandle add(Objects& all, std::shared_ptr<PhysicalMemory> memory) {
  const auto handle = ++all.last;
  all.handles[handle] = {std::move(memory)};
  return handle;
}

/// Runs body(mapping, address) for the mappings that [address, address + bytes) consists of; all must be whole.
template <class Body>
CUresult for_mappings(Objects& all, CUdeviceptr address, std::size_t bytes, Body&& body) {
  const auto first = all.mappings.find(address);
  std::size_t covered = 0;
  for (auto each = first; each != all.mappings.end() && covered < bytes; ++each) {
    if (each->first != address + covered) return CUDA_ERROR_INVALID_VALUE;
    covered += each->second.bytes;
  }
  if (covered != bytes || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  for (auto each = first; each != all.mappings.end() && each->first < address + bytes;) {
    const auto now = each++;
    body(now->first, now->second);
  }
  return CUDA_SUCCESS;
}

void deny(Device& device, CUdeviceptr address, Mapping& mapping) {
  if (mapping.access != CU_MEM_ACCESS_FLAGS_PROT_NONE) device.memory().remove(pointer_of(address), MemoryKind::mapped);
  mapping.access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

}  // namespace

namespace pkb::virtual_gpu {

void forget_physical_memory() {
  Objects& all = objects();
  const std::lock_guard lock(all.mutex);
  for (auto& [address, mapping] : all.mappings) deny(device(), address, mapping);
  for (const auto& [address, bytes] : all.reservations) device().memory().unreserve(address);
  all.mappings.clear();
  all.reservations.clear();
  all.handles.clear();
}

}  // namespace pkb::virtual_gpu

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* properties,
                                       CUmemAllocationGranularity_flags) {
  return driver_call([&](Device&) {
    if (granularity == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *granularity = kGranularity;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes, const CUmemAllocationProp* properties,
                     unsigned long long flags) {
  return with_objects([&](Device& device, Objects& all) {
    if (handle == nullptr || flags != 0 || !is_whole(bytes) || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!is_supported(properties)) {
      device.unsupported("cuMemCreate of memory that is not pinned on the device");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (!device.memory().charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    std::shared_ptr<PhysicalMemory> memory;
    if (pkb::FileDescriptor file = pkb::process::memory_file(bytes))
      memory = PhysicalMemory::open(std::move(file), bytes, *properties);
    if (!memory) {
      device.memory().refund(bytes);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = add(all, std::move(memory));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_objects([&](Device&, Objects& all) {
    const auto found = all.handles.find(handle);
    if (found == all.handles.end()) return CUDA_ERROR_INVALID_VALUE;
    if (--found->second.uses == 0) all.handles.erase(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t align, CUdeviceptr,
                             unsigned long long flags) {
  return with_objects([&](Device& device, Objects& all) {
    if (address == nullptr || flags != 0 || !is_whole(bytes) || (align & (align - 1)) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *address = device.memory().reserve(bytes, std::max(align, kGranularity));
    if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    all.reservations[*address] = bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return with_objects([&](Device& device, Objects& all) {
    const auto found = all.reservations.find(address);
    if (found == all.reservations.end() || found->second != bytes) return CUDA_ERROR_INVALID_VALUE;
    const auto mapped = all.mappings.lower_bound(address);
    if (mapped != all.mappings.end() && mapped->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
    device.memory().unreserve(address);
    all.reservations.erase(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return with_objects([&](Device&, Objects& all) {
    const auto found = all.handles.find(handle);
    if (found == all.handles.end() || flags != 0 || !is_whole(bytes) || offset % kGranularity != 0 ||
        address % kGranularity != 0 || !within(all.reservations, address, bytes)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::size_t size = found->second.memory->bytes();
    if (offset > size || bytes > size - offset) return CUDA_ERROR_INVALID_VALUE;
    const auto next = all.mappings.lower_bound(address);
    if (next != all.mappings.end() && next->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
    if (next != all.mappings.begin()) {
      const auto& [before, mapping] = *std::prev(next);
      if (before + mapping.bytes > address) return CUDA_ERROR_INVALID_VALUE;
    }
    all.mappings[address] = {.memory = found->second.memory, .bytes = bytes, .offset = offset};
    return CUDA_SUCCESS;
  });
}

CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return with_objects([&](Device& device, Objects& all) {
    device.engine().wait_all();
    std::vector<CUdeviceptr> gone;
    const CUresult result = for_mappings(all, address, bytes, [&](CUdeviceptr at, Mapping& mapping) {
      deny(device, at, mapping);
      gone.push_back(at);
    });
    for (const CUdeviceptr at : gone) all.mappings.erase(at);
    return result;
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* wanted, std::size_t count) {
  return with_objects([&](Device& device, Objects& all) {
    if (wanted == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    unsigned long long access = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    for (std::size_t i = 0; i < count; ++i) {
      if (wanted[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || wanted[i].location.id != 0) {
        return CUDA_ERROR_INVALID_DEVICE;
      }
      access = wanted[i].flags;
    }
    return for_mappings(all, address, bytes, [&](CUdeviceptr at, Mapping& mapping) {
      deny(device, at, mapping);
      if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE) return;
      const auto here = reinterpret_cast<std::uintptr_t>(mapping.memory->here() + mapping.offset);
      device.memory().add({.base = at, .bytes = mapping.bytes, .kind = MemoryKind::mapped, .to_host = here - at},
                          "cuMemMap #" + std::to_string(++all.numbered), device.setup().rank,
                          access == CU_MEM_ACCESS_FLAGS_PROT_READ);
      mapping.access = access;
    });
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return with_objects([&](Device&, Objects& all) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto next = all.mappings.upper_bound(address);
    if (next == all.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [base, mapping] = *--next;
    if (address - base >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    *flags = mapping.access;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type,
                                      unsigned long long flags) {
  return with_objects([&](Device&, Objects& all) {
    const auto found = all.handles.find(handle);
    if (to == nullptr || flags != 0 || found == all.handles.end()) return CUDA_ERROR_INVALID_VALUE;
    const PhysicalMemory& memory = *found->second.memory;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        (memory.properties().requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const int file = fcntl(memory.file(), F_DUPFD_CLOEXEC, 0);
    if (file < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(to) = file;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* from,
                                        CUmemAllocationHandleType type) {
  return with_objects([&](Device& device, Objects& all) {
    if (handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    // The descriptor is passed by value in the pointer, and stays the caller's.
    pkb::FileDescriptor file(fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(from)), F_DUPFD_CLOEXEC, 0));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0 || !is_whole(static_cast<std::size_t>(status.st_size)) ||
        (fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    const auto bytes = static_cast<std::size_t>(status.st_size);
    if (!device.memory().charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    auto memory = PhysicalMemory::open(std::move(file), bytes, properties);
    if (!memory) {
      device.memory().refund(bytes);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *handle = add(all, std::move(memory));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties, CUmemGenericAllocationHandle handle) {
  return with_objects([&](Device&, Objects& all) {
    const auto found = all.handles.find(handle);
    if (properties == nullptr || found == all.handles.end()) return CUDA_ERROR_INVALID_VALUE;
    *properties = found->second.memory->properties();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return with_objects([&](Device&, Objects& all) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto next = all.mappings.upper_bound(address_of(address));
    if (next == all.mappings.begin()) return CUDA_ERROR_INVALID_VALUE;
    const auto& [base, mapping] = *--next;
    if (address_of(address) - base >= mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    for (auto& [known, each] : all.handles) {
      if (each.memory != mapping.memory) continue;
      ++each.uses;
      *handle = known;
      return CUDA_SUCCESS;
    }
    *handle = add(all, mapping.memory);
    return CUDA_SUCCESS;
  });
}
