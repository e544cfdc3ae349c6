// SPDX-License-Identifier: Apache-2.0
// Runs every probe on the machine's GPU and prints "name digest" lines for testdata/probes_h200.txt; on
// standard error, what the virtual GPU does otherwise. Needs only the driver, which it loads when started.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/exec/probe.h"
#include "harness/virtual_gpu/exec/probe_run.h"

namespace {

using namespace pkb::virtual_gpu;

class Driver {
 public:
  Driver() : x_library(dlopen("libcuda.so.1", RTLD_NOW)) {
    if (x_library == nullptr) fail("no CUDA driver", 0);
    int device = 0;
    void* context = nullptr;
    check("cuInit", call<int(unsigned)>("cuInit")(0));
    check("cuDeviceGet", call<int(int*, int)>("cuDeviceGet")(&device, 0));
    check("cuDevicePrimaryCtxRetain", call<int(void**, int)>("cuDevicePrimaryCtxRetain")(&context, device));
    check("cuCtxSetCurrent", call<int(void*)>("cuCtxSetCurrent")(context));
  }
  template <class Signature>
  Signature* call(const char* name) {
    return reinterpret_cast<Signature*>(dlsym(x_library, name));
  }
  static void check(const char* what, int status) {
    if (status != 0) fail(what, status);
  }

 private:
  [[noreturn]] static void fail(const char* what, int status) {
    std::fprintf(stderr, "probe_record: %s: status %d\n", what, status);
    std::exit(3);
  }
  void* x_library;
};

}  // namespace

int main() {
  const std::vector<Probe> all = probes();
  const std::string text = probe_module(all);
  Driver driver;
  const auto check = Driver::check;
  void* module = nullptr;
  check("cuModuleLoadData", driver.call<int(void**, const void*)>("cuModuleLoadData")(&module, text.c_str()));
  const auto allocate = driver.call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2");
  const auto upload = driver.call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2");
  const auto download = driver.call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2");
  const auto find = driver.call<int(void**, void*, const char*)>("cuModuleGetFunction");
  const auto launch = driver.call<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      unsigned, void*, void**, void**)>("cuLaunchKernel");
  constexpr std::size_t kBytes = 8 * kProbeInputs;
  std::map<std::pair<Kind, int>, std::uint64_t> inputs;
  std::uint64_t out = 0;
  check("cuMemAlloc", allocate(&out, kBytes));
  const auto input = [&](Kind kind, int which) {
    std::uint64_t& at = inputs[{kind, which}];
    if (at == 0) {
      check("cuMemAlloc", allocate(&at, kBytes));
      check("cuMemcpyHtoD", upload(at, probe_inputs(kind, which).data(), kBytes));
    }
    return at;
  };
  ProbeRun virtual_run(all);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Probe& probe = all[n];
    std::uint64_t parameters[5] = {out, 0, 0, 0, 0};
    for (std::size_t i = 0; i < probe.from.size(); ++i)
      parameters[i + 1] = input(probe.from[i], static_cast<int>(i));
    void* addresses[5];
    for (int i = 0; i < 5; ++i) addresses[i] = &parameters[i];
    void* function = nullptr;
    check("cuModuleGetFunction", find(&function, module, fmt::format("k{}", n).c_str()));
    check("cuLaunchKernel",
          launch(function, kProbeInputs / 128, 1, 1, 128, 1, 1, 0, nullptr, addresses, nullptr));
    std::vector<std::uint64_t> real(kProbeInputs);
    check("cuMemcpyDtoH", download(real.data(), out, kBytes));
    std::printf("%s %016llx\n", probe.name.c_str(), static_cast<unsigned long long>(digest(real)));

    const std::vector<std::uint64_t> ours = virtual_run(n);
    std::size_t different = 0;
    std::string examples;
    for (std::size_t i = 0; i < kProbeInputs; ++i) {
      if (ours[i] == real[i] || ++different > 3) continue;
      examples += " ";
      for (std::size_t k = 0; k < probe.from.size(); ++k)
        examples += fmt::format("{:x} ", probe_inputs(probe.from[k], static_cast<int>(k))[i]);
      examples += fmt::format("-> {:x}, not {:x};", real[i], ours[i]);
    }
    if (different != 0)
      std::fprintf(stderr, "%s: %zu differ:%s\n", probe.name.c_str(), different, examples.c_str());
  }
}
