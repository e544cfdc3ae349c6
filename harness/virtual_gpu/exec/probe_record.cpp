// SPDX-License-Identifier: Apache-2.0
// exec_probe_record DIRECTORY: runs every probe on the machine's GPU and writes DIRECTORY/probes_h200.txt, lines
// "name digest", and DIRECTORY/matrices_h200.txt, lines "opcode inputs words"; prints what the virtual GPU does
// otherwise. Needs only the driver, which it loads when started.
#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/exec/matrix_probe.h"
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

std::string first_line(Driver& driver) {
  char name[128] = "";
  int version = 0;
  Driver::check("cuDeviceGetName", driver.call<int(char*, int, int)>("cuDeviceGetName")(name, sizeof name, 0));
  Driver::check("cuDriverGetVersion", driver.call<int(int*)>("cuDriverGetVersion")(&version));
  const std::time_t now = std::time(nullptr);
  char date[32] = "";
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return fmt::format("# Recorded on one {}, driver for CUDA {}.{}, {}: exec_probe_record\n", name, version / 1000,
                     version % 1000 / 10, date);
}

std::ofstream create(const std::string& path, Driver& driver) {
  std::ofstream file(path);
  file << first_line(driver);
  if (!file) {
    fmt::print(stderr, "probe_record: cannot write {}\n", path);
    std::exit(2);
  }
  return file;
}

void* load(Driver& driver, const std::string& text) {
  void* module = nullptr;
  Driver::check("cuModuleLoadData",
                driver.call<int(void**, const void*)>("cuModuleLoadData")(&module, text.c_str()));
  return module;
}

void launch(Driver& driver, void* module, const std::string& kernel, unsigned blocks, unsigned threads,
            std::uint64_t* parameters, std::size_t count) {
  std::vector<void*> addresses(count);
  for (std::size_t i = 0; i < count; ++i) addresses[i] = &parameters[i];
  void* function = nullptr;
  Driver::check("cuModuleGetFunction", driver.call<int(void**, void*, const char*)>("cuModuleGetFunction")(
                                           &function, module, kernel.c_str()));
  Driver::check("cuLaunchKernel",
                driver.call<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                                void**, void**)>("cuLaunchKernel")(function, blocks, 1, 1, threads, 1, 1, 0, nullptr,
                                                                   addresses.data(), nullptr));
}

template <class T>
std::uint64_t upload(Driver& driver, const std::vector<T>& values) {
  std::uint64_t at = 0;
  Driver::check("cuMemAlloc", driver.call<int(std::uint64_t*, std::size_t)>("cuMemAlloc_v2")(
                                  &at, values.size() * sizeof(T)));
  Driver::check("cuMemcpyHtoD", driver.call<int(std::uint64_t, const void*, std::size_t)>("cuMemcpyHtoD_v2")(
                                    at, values.data(), values.size() * sizeof(T)));
  return at;
}
template <class T>
void download(Driver& driver, std::uint64_t from, std::vector<T>& values) {
  Driver::check("cuMemcpyDtoH", driver.call<int(void*, std::uint64_t, std::size_t)>("cuMemcpyDtoH_v2")(
                                    values.data(), from, values.size() * sizeof(T)));
}

void record_instructions(Driver& driver, std::ofstream file) {
  const std::vector<Probe> all = probes();
  void* const module = load(driver, probe_module(all));
  std::vector<std::uint64_t> real(kProbeInputs);
  const std::uint64_t out = upload(driver, real);
  std::map<std::pair<Kind, int>, std::uint64_t> inputs;
  const auto input = [&](Kind kind, int which) {
    std::uint64_t& at = inputs[{kind, which}];
    if (at == 0) at = upload(driver, probe_inputs(kind, which));
    return at;
  };
  ProbeRun virtual_run(all);
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Probe& probe = all[n];
    std::uint64_t parameters[5] = {out, 0, 0, 0, 0};
    for (std::size_t i = 0; i < probe.from.size(); ++i)
      parameters[i + 1] = input(probe.from[i], static_cast<int>(i));
    launch(driver, module, fmt::format("k{}", n), kProbeInputs / 128, 128, parameters, 5);
    download(driver, out, real);
    file << fmt::format("{} {:016x}\n", probe.name, digest(real));

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
    if (different != 0) fmt::print("{}: {} differ:{}\n", probe.name, different, examples);
  }
}

void record_matrices(Driver& driver, std::ofstream file) {
  const std::vector<MatrixProbe> all = matrix_probes();
  void* const module = load(driver, matrix_probe_module(all));
  for (std::size_t n = 0; n < all.size(); ++n)
    for (const MatrixInputs inputs : {MatrixInputs::exact, MatrixInputs::general, MatrixInputs::special}) {
      std::vector<std::uint32_t> real = run_matrix_probe(all[n], inputs);
      const std::vector<std::uint32_t> ours = real;
      std::fill(real.begin(), real.end(), 0u);
      std::uint64_t parameters[2] = {upload(driver, real), upload(driver, matrix_probe_inputs(all[n], inputs))};
      launch(driver, module, fmt::format("m{}", n), 1, 32, parameters, 2);
      download(driver, parameters[0], real);
      file << all[n].opcode << ' ' << static_cast<int>(inputs);
      for (const std::uint32_t word : real) file << fmt::format(" {:08x}", word);
      file << '\n';
      std::size_t different = 0;
      for (std::size_t i = 0; i < real.size(); ++i) different += real[i] != ours[i] ? 1 : 0;
      if (different != 0)
        fmt::print("{}, inputs {}: {} of {} words differ\n", all[n].opcode, static_cast<int>(inputs), different,
                   real.size());
    }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    fmt::print(stderr, "usage: exec_probe_record DIRECTORY\n");
    return 2;
  }
  const std::string directory = arguments[1];
  Driver driver;
  record_instructions(driver, create(directory + "/probes_h200.txt", driver));
  record_matrices(driver, create(directory + "/matrices_h200.txt", driver));
}
