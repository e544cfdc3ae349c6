// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/in_fabric.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/roofline/calibrate/cuda_check.h"
#include "harness/roofline/calibrate/in_fabric_kernel.h"
#include "harness/roofline/calibrate/spread.h"

namespace pkb::roofline {
namespace {

using roofline::check;
void check(CUresult result, const char* action) {
  if (result != CUDA_SUCCESS)
    throw EnvironmentError({.where = "multicast",
                            .fault = fmt::format("{}: driver error {}", action, static_cast<int>(result)),
                            .remedy = "leave out --multicast"});
}

/// The driver's functions, found at run time, since machines without a GPU lack libcuda.
struct Driver {
  template <class Function>
  static void find(Function& function, const char* name, unsigned version) {
    void* entry = nullptr;
    cudaDriverEntryPointQueryResult found{};
    const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &entry, version, cudaEnableDefault, &found);
    if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
      throw EnvironmentError({.where = "multicast", .fault = std::string(name) + " is not in this driver", .remedy = ""});
    function = reinterpret_cast<Function>(entry);
  }
  Driver() {
    find(device, "cuDeviceGet", 2000);
    find(attribute, "cuDeviceGetAttribute", 2000);
    find(create, "cuMemCreate", 10020);
    find(release, "cuMemRelease", 10020);
    find(reserve, "cuMemAddressReserve", 10020);
    find(unreserve, "cuMemAddressFree", 10020);
    find(map, "cuMemMap", 10020);
    find(unmap, "cuMemUnmap", 10020);
    find(set_access, "cuMemSetAccess", 10020);
    find(multicast, "cuMulticastCreate", 12010);
    find(add_device, "cuMulticastAddDevice", 12010);
    find(bind, "cuMulticastBindMem", 12010);
    find(granularity, "cuMulticastGetGranularity", 12010);
  }

  PFN_cuDeviceGet_v2000 device = nullptr;
  PFN_cuDeviceGetAttribute_v2000 attribute = nullptr;
  PFN_cuMemCreate_v10020 create = nullptr;
  PFN_cuMemRelease_v10020 release = nullptr;
  PFN_cuMemAddressReserve_v10020 reserve = nullptr;
  PFN_cuMemAddressFree_v10020 unreserve = nullptr;
  PFN_cuMemMap_v10020 map = nullptr;
  PFN_cuMemUnmap_v10020 unmap = nullptr;
  PFN_cuMemSetAccess_v10020 set_access = nullptr;
  PFN_cuMulticastCreate_v12010 multicast = nullptr;
  PFN_cuMulticastAddDevice_v12010 add_device = nullptr;
  PFN_cuMulticastBindMem_v12010 bind = nullptr;
  PFN_cuMulticastGetGranularity_v12010 granularity = nullptr;
};

bool has_multicast(const Driver& driver, int gpus) {
  for (int gpu = 0; gpu < gpus; ++gpu) {
    CUdevice device{};
    int supported = 0;
    check(driver.device(&device, gpu), "cuDeviceGet");
    check(driver.attribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device), "cuDeviceGetAttribute");
    if (supported == 0) return false;
  }
  return true;
}

/// Memory of each GPU at one multicast address, and each GPU's own by itself.
class Multicast {
 public:
  Multicast(const Driver& driver, int gpus, std::size_t wanted) : x_driver(driver), x_gpus(gpus) {
    CUmulticastObjectProp team{};
    team.numDevices = static_cast<unsigned>(gpus);
    team.size = wanted;
    std::size_t unit = 0;
    check(driver.granularity(&unit, &team, CU_MULTICAST_GRANULARITY_RECOMMENDED), "cuMulticastGetGranularity");
    x_bytes = team.size = (wanted + unit - 1) / unit * unit;
    check(driver.multicast(&x_object, &team), "cuMulticastCreate");
    for (int gpu = 0; gpu < gpus; ++gpu) check(driver.add_device(x_object, gpu), "cuMulticastAddDevice");
    for (int gpu = 0; gpu < gpus; ++gpu) {
      CUmemAllocationProp own{};
      own.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      own.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu};
      CUmemGenericAllocationHandle& memory = x_memory.emplace_back();
      check(driver.create(&memory, x_bytes, &own, 0), "cuMemCreate");
      check(driver.bind(x_object, 0, memory, 0, x_bytes, 0), "cuMulticastBindMem");
      x_own.push_back(mapped(memory));
    }
    x_all = mapped(x_object);
  }
  ~Multicast() {
    unmap(x_all);
    for (const CUdeviceptr own : x_own) unmap(own);
    for (const CUmemGenericAllocationHandle memory : x_memory) x_driver.release(memory);
    x_driver.release(x_object);
  }
  Multicast(const Multicast&) = delete;
  Multicast& operator=(const Multicast&) = delete;

  std::byte* all() const { return reinterpret_cast<std::byte*>(x_all); }
  void* own(int gpu) const { return reinterpret_cast<void*>(x_own[static_cast<std::size_t>(gpu)]); }

 private:
  CUdeviceptr mapped(CUmemGenericAllocationHandle handle) {
    CUdeviceptr address = 0;
    check(x_driver.reserve(&address, x_bytes, 0, 0, 0), "cuMemAddressReserve");
    check(x_driver.map(address, x_bytes, 0, handle, 0), "cuMemMap");
    std::vector<CUmemAccessDesc> access;
    for (int gpu = 0; gpu < x_gpus; ++gpu)
      access.push_back({.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    check(x_driver.set_access(address, x_bytes, access.data(), access.size()), "cuMemSetAccess");
    return address;
  }
  void unmap(CUdeviceptr address) const {
    if (address == 0) return;
    x_driver.unmap(address, x_bytes);
    x_driver.unreserve(address, x_bytes);
  }

  const Driver& x_driver;
  int x_gpus;
  std::size_t x_bytes = 0;
  CUmemGenericAllocationHandle x_object{};
  std::vector<CUmemGenericAllocationHandle> x_memory;
  std::vector<CUdeviceptr> x_own;
  CUdeviceptr x_all = 0;
};

class AllReduce {
 public:
  AllReduce(const Multicast& memory, int gpus) : x_memory(memory), x_gpus(gpus) {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    x_sms = properties.multiProcessorCount;
  }

  /// Ones become the number of GPUs. @throws EnvironmentError otherwise
  void verify(std::size_t bytes) const {
    const auto bf16 = [](float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16); };
    std::vector<std::uint16_t> values(bytes / 2, bf16(1));
    for (int gpu = 0; gpu < x_gpus; ++gpu)
      check(cudaMemcpy(x_memory.own(gpu), values.data(), bytes, cudaMemcpyDefault), "cudaMemcpy");
    enqueue(bytes);
    finish();
    for (int gpu = 0; gpu < x_gpus; ++gpu) {
      check(cudaMemcpy(values.data(), x_memory.own(gpu), bytes, cudaMemcpyDefault), "cudaMemcpy");
      if (std::ranges::count(values, bf16(static_cast<float>(x_gpus))) != std::ssize(values))
        throw EnvironmentError({.where = fmt::format("multicast, GPU {}", gpu),
                                .fault = "the fabric's sum is wrong",
                                .remedy = "leave out --multicast"});
      check(cudaMemset(x_memory.own(gpu), 0, bytes), "cudaMemset");  // sums of zeros do not grow
    }
    finish();
  }

  Spread rate(std::size_t bytes) const {
    using Clock = std::chrono::steady_clock;
    constexpr int kCalls = 50, kSamples = 7;
    std::vector<double> rates;
    for (int sample = 0; sample <= kSamples; ++sample) {
      const auto start = Clock::now();
      for (int call = 0; call < kCalls; ++call) enqueue(bytes);
      finish();
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (sample > 0) rates.push_back(static_cast<double>(bytes) * kCalls / seconds);
    }
    return spread_of(std::move(rates));
  }

 private:
  void enqueue(std::size_t bytes) const {
    const std::size_t part = bytes / static_cast<std::size_t>(x_gpus) / 16 * 16;
    for (int gpu = 0; gpu < x_gpus; ++gpu) {
      check(cudaSetDevice(gpu), "cudaSetDevice");
      const std::size_t start = part * static_cast<std::size_t>(gpu);
      const std::size_t size = gpu == x_gpus - 1 ? bytes - start : part;
      check(reduce_in_fabric(x_memory.all() + start, size, x_sms, nullptr), "the in-fabric kernel");
    }
  }
  void finish() const {
    for (int gpu = 0; gpu < x_gpus; ++gpu) {
      check(cudaSetDevice(gpu), "cudaSetDevice");
      check(cudaDeviceSynchronize(), "the in-fabric kernel");
    }
  }

  const Multicast& x_memory;
  int x_gpus, x_sms = 0;
};

}  // namespace

nlohmann::json measure_in_fabric(int gpus) {
  const Driver driver;
  nlohmann::json rows = nlohmann::json::array();
  if (!has_multicast(driver, gpus)) return rows;
  constexpr std::size_t kLargest = std::size_t{256} << 20;
  const Multicast memory(driver, gpus, kLargest);
  const AllReduce all_reduce(memory, gpus);
  all_reduce.verify(std::size_t{1} << 20);
  for (std::size_t bytes = std::size_t{64} << 10; bytes <= kLargest; bytes *= 4)
    rows.push_back({{"bytes", bytes}, {"gb_s", to_json(map(all_reduce.rate(bytes), [](double rate) { return rate * 1e-9; }))}});
  return rows;
}

}  // namespace pkb::roofline
