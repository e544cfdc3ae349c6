// SPDX-License-Identifier: Apache-2.0
#include "reference/cuda_backend.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace pkb::ref {
namespace {

const CudaBackend* load_backend() {
  Dl_info here{};
  if (!dladdr(reinterpret_cast<const void*>(&cuda_backend), &here) || !here.dli_fname)
    throw std::runtime_error("cannot find the folder of libpkb_reference.so");
  const auto path = std::filesystem::path(here.dli_fname).parent_path() / "libpkb_reference_cuda.so";
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module) throw std::runtime_error(std::string("cannot load the CUDA libraries: ") + dlerror());
  const void* const table = dlsym(module, "pkb_cuda_backend");
  if (!table) throw std::runtime_error(path.string() + " has no pkb_cuda_backend; build it again");
  return static_cast<const CudaBackend*>(table);
}

}  // namespace

const CudaBackend& cuda_backend() {
  static const CudaBackend* const backend = load_backend();
  return *backend;
}

}  // namespace pkb::ref
