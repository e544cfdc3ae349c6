// SPDX-License-Identifier: Apache-2.0
// What nvcc's generated constructors call when a library of kernels is loaded, and the variables they announce.
#include <vector_types.h>

#include "harness/virtual_gpu/runtime/call.h"

using namespace pkb::virtual_gpu;

namespace {

/// fatBinaryCtl.h: the wrapper that __cudaRegisterFatBinary receives.
struct FatBinaryWrapper {
  int magic, version;
  const void* image;
  void* file_name;
};

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

template <class Body>
cudaError_t with_variable(const void* symbol, Body&& body) {
  return call([&](Device& device) {
    const VariableEntry* variable = device.modules().variable(symbol);
    return variable == nullptr ? cudaErrorInvalidSymbol : body(device, *variable);
  });
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(device().modules().add_module(static_cast<FatBinaryWrapper*>(wrapper)->image));
}

void __cudaRegisterFatBinaryEnd(void**) {}

// Runs while the process exits, possibly with a kernel still spinning: then nothing may be taken from under it.
void __cudaUnregisterFatBinary(void** handle) {
  if (device().engine().all_idle()) device().modules().remove_module(module_of(handle));
}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  device().modules().add_kernel(module_of(handle), host_function, name);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* name, int, std::size_t bytes,
                       int constant, int) {
  device().modules().add_variable(module_of(handle), {.host = host_variable, .name = name, .bytes = bytes,
                                                      .constant = constant != 0});
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* name, int, std::size_t bytes,
                              int, int) {
  device().modules().add_variable(module_of(handle),
                                  {.host = host_pointer, .managed = host_pointer, .name = name, .bytes = bytes});
}

// Before the host's first access to a __managed__ variable.
char __cudaInitModule(void** handle) {
  const cudaError_t error = call([&](Device& device) {
    std::lock_guard lock(device.modules().mutex());
    try {
      module_of(handle)->load();
    } catch (const ModuleError& failure) {
      return device.unsupported(std::string("the module of a __managed__ variable: ") + failure.what());
    }
    return cudaSuccess;
  });
  return error == cudaSuccess ? 1 : 0;
}

}  // extern "C"

cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  return with_variable(symbol, [&](Device& device, const VariableEntry& variable) {
    if (address == nullptr) return cudaErrorInvalidValue;
    std::lock_guard lock(device.modules().mutex());
    try {
      *address = variable.module->address(variable);
    } catch (const ModuleError& error) {
      return device.unsupported("the module of variable " + variable.name + ": " + error.what());
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGetSymbolSize(std::size_t* bytes, const void* symbol) {
  return with_variable(symbol, [&](Device&, const VariableEntry& variable) {
    if (bytes == nullptr) return cudaErrorInvalidValue;
    *bytes = variable.bytes;
    return cudaSuccess;
  });
}
