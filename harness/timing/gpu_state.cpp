// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/gpu_state.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

namespace pkb::timing {
namespace {

// Names and values of the NVIDIA Management Library's API reference, whose header not every toolkit brings.
using Gpu = struct nvmlDevice_st*;
constexpr int kSuccess = 0, kClockSm = 1, kClockMemory = 2, kTemperatureGpu = 0;
constexpr unsigned long long kSoftwarePowerCap = 0x4, kHardwareSlowdown = 0x8, kSoftwareThermalSlowdown = 0x20;

/// The driver's management library, which machines without a driver lack.
struct Library {
  Library() {
    void* const handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    const auto find = [handle](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
      return function != nullptr;
    };
    int (*initialise)() = nullptr;
    usable = find(initialise, "nvmlInit_v2") && find(by_bus, "nvmlDeviceGetHandleByPciBusId_v2") &&
             find(clock, "nvmlDeviceGetClockInfo") && find(temperature, "nvmlDeviceGetTemperature") &&
             find(reasons, "nvmlDeviceGetCurrentClocksEventReasons") &&
             find(processes, "nvmlDeviceGetComputeRunningProcesses_v3") && initialise() == kSuccess;
  }
  bool usable = false;
  int (*by_bus)(const char* bus, Gpu* gpu) = nullptr;
  int (*clock)(Gpu gpu, int which, unsigned* megahertz) = nullptr;
  int (*temperature)(Gpu gpu, int sensor, unsigned* celsius) = nullptr;
  int (*reasons)(Gpu gpu, unsigned long long* bits) = nullptr;
  int (*processes)(Gpu gpu, unsigned* count, void* infos) = nullptr;
};

}  // namespace

std::optional<GpuState> gpu_state(unsigned own) {
  static const Library library;
  int device = 0;
  char bus[32] = {};
  Gpu gpu = nullptr;
  if (!library.usable || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetPCIBusId(bus, sizeof bus, device) != cudaSuccess || library.by_bus(bus, &gpu) != kSuccess)
    return std::nullopt;
  GpuState state;
  unsigned long long reasons = 0;
  unsigned processes = 0;
  if (library.clock(gpu, kClockSm, &state.sm_mhz) != kSuccess ||
      library.clock(gpu, kClockMemory, &state.memory_mhz) != kSuccess ||
      library.temperature(gpu, kTemperatureGpu, &state.celsius) != kSuccess ||
      library.reasons(gpu, &reasons) != kSuccess)
    return std::nullopt;
  state.throttled = (reasons & (kSoftwarePowerCap | kHardwareSlowdown | kSoftwareThermalSlowdown)) != 0;
  // Asked for none, it says how many there are.
  library.processes(gpu, &processes, nullptr);
  state.other_processes = processes > own ? processes - own : 0;
  return state;
}

}  // namespace pkb::timing
