// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "harness/device/memory.h"
#include "harness/error/error.h"

namespace pkb::device {
namespace {

[[noreturn]] void fail(const char* action, const std::string& reason) {
  throw EnvironmentError(
      {.where = "GPU memory", .fault = fmt::format("{}: {}", action, reason), .remedy = {}});
}

void check(cudaError_t error, const char* action) {
  if (error != cudaSuccess) fail(action, cudaGetErrorString(error));
}

void check(CUresult result, const char* action) {
  if (result == CUDA_SUCCESS) return;
  fail(action, result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory; choose a smaller size or fewer ranks"
                                                  : fmt::format("driver error {}", static_cast<int>(result)));
}

/// The driver's functions, found at run time: nothing of ours links libcuda, which machines without a GPU
/// lack.
struct Driver {
  template <class Function>
  static void find(Function& function, const char* name) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &entry, 10020, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess) fail(name, "not in this driver");
    function = reinterpret_cast<Function>(entry);
  }

  Driver() {
    find(create, "cuMemCreate");
    find(release, "cuMemRelease");
    find(reserve, "cuMemAddressReserve");
    find(unreserve, "cuMemAddressFree");
    find(map, "cuMemMap");
    find(unmap, "cuMemUnmap");
    find(set_access, "cuMemSetAccess");
    find(granularity, "cuMemGetAllocationGranularity");
    find(export_handle, "cuMemExportToShareableHandle");
    find(import_handle, "cuMemImportFromShareableHandle");
  }

  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 unreserve = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMemGetAllocationGranularity_v10020 granularity = nullptr;
  PFN_cuMemExportToShareableHandle_v10020 export_handle = nullptr;
  PFN_cuMemImportFromShareableHandle_v10020 import_handle = nullptr;
};

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int ordinal) : x_ordinal(ordinal) {
    check(cudaSetDevice(ordinal), "cudaSetDevice");
    check(cudaFree(nullptr), "creating the context");
    x_driver = std::make_unique<Driver>();
    const CUmemAllocationProp properties = allocation();
    check(x_driver->granularity(&x_granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
          "cuMemGetAllocationGranularity");
  }

  Segment create(std::size_t bytes) override {
    const CUmemAllocationProp properties = allocation();
    CUmemGenericAllocationHandle handle{};
    check(x_driver->create(&handle, rounded(bytes), &properties, 0), "cuMemCreate");
    int file = -1;
    const CUresult exported =
        x_driver->export_handle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    FileDescriptor fd(file);
    if (exported != CUDA_SUCCESS) x_driver->release(handle);
    check(exported, "cuMemExportToShareableHandle");
    Segment segment = map(handle, bytes, std::move(fd));
    check(cudaMemset(segment.data(), 0, bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return segment;
  }

  Segment import(FileDescriptor fd, std::size_t bytes) override {
    CUmemGenericAllocationHandle handle{};
    // The descriptor is passed by value in a pointer (CUDA driver API, cuMemImportFromShareableHandle).
    void* const by_value = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
    check(x_driver->import_handle(&handle, by_value, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
          "cuMemImportFromShareableHandle");
    return map(handle, bytes, {});
  }

  void read(std::span<std::byte> to, const std::byte* from) override {
    if (!to.empty()) check(cudaMemcpy(to.data(), from, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    if (from.empty()) return;
    check(cudaMemcpy(to, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void fill(std::byte* to, std::byte value, std::size_t bytes) override {
    if (bytes == 0) return;
    check(cudaMemset(to, std::to_integer<int>(value), bytes), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

 private:
  CUmemAllocationProp allocation() const {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = x_ordinal};
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return properties;
  }

  std::size_t rounded(std::size_t bytes) const {
    return (bytes + x_granularity - 1) / x_granularity * x_granularity;
  }

  /// Maps and takes `handle`: memory lives as long as it is mapped somewhere or its descriptor is open.
  Segment map(CUmemGenericAllocationHandle handle, std::size_t bytes, FileDescriptor fd) {
    const std::size_t size = rounded(bytes);
    CUdeviceptr address = 0;
    CUresult result = x_driver->reserve(&address, size, 0, 0, 0);
    if (result == CUDA_SUCCESS) {
      result = x_driver->map(address, size, 0, handle, 0);
      if (result != CUDA_SUCCESS) x_driver->unreserve(address, size);
    }
    x_driver->release(handle);
    check(result, "cuMemMap");
    const Driver driver = *x_driver;
    void* const data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    Segment segment(data, bytes, std::move(fd), [driver, address, size] {
      cudaDeviceSynchronize();
      driver.unmap(address, size);
      driver.unreserve(address, size);
    });
    // A peer's memory on another GPU is made accessible to the GPU of this process.
    CUmemAccessDesc access{};
    access.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = x_ordinal};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    check(x_driver->set_access(address, size, &access, 1), "cuMemSetAccess");
    return segment;
  }

  int x_ordinal;
  std::size_t x_granularity = 0;
  std::unique_ptr<Driver> x_driver;
};

}  // namespace

std::unique_ptr<Memory> cuda_memory(int ordinal) { return std::make_unique<CudaMemory>(ordinal); }

}  // namespace pkb::device
