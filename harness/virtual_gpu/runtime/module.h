// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/exec/exec.h"
#include "harness/virtual_gpu/ptx/module.h"
#include "harness/virtual_gpu/runtime/memory_table.h"
#include "harness/virtual_gpu/schedule/chip.h"

namespace pkb::virtual_gpu {

/// A module cannot be used: its PTX is missing, not for this chip, or not understood.
struct ModuleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Module;

/// A __global__ function of a registered module: what a cudaKernel_t points to.
struct KernelEntry {
  Module* module = nullptr;
  std::string name;
  int max_dynamic_shared = -1;  ///< cudaFuncAttributeMaxDynamicSharedMemorySize when set
  std::shared_ptr<const Kernel> kernel;  ///< null until first used
  bool non_portable_cluster = false;  ///< cudaFuncAttributeNonPortableClusterSizeAllowed
  bool cluster_must_be_set = false;   ///< cudaFuncAttributeClusterDimMustBeSet
  std::uint32_t cluster[3] = {0, 0, 0};  ///< cudaFuncAttributeRequiredClusterWidth, Height and Depth
};

/// A __device__, __constant__ or __managed__ variable.
struct VariableEntry {
  Module* module = nullptr;
  std::string name;
  std::size_t bytes = 0;
  bool constant = false;
  void** managed = nullptr;  ///< where the host keeps the address of a __managed__ variable
};

/// One fat binary, as nvcc's registration code announces it. Parsed at first use and each kernel decoded at its
/// own, since a candidate that includes CUB carries far more code than it runs.
class Module {
 public:
  Module(const void* image, const Chip& chip, MemoryTable& memory) : x_image(image), x_chip(chip), x_memory(memory) {}
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  void add_managed(VariableEntry& variable) { x_managed.push_back(&variable); }

  /// Reads the PTX and gives the module's variables memory, unless that was done. @throws ModuleError
  void load();
  /// Forgets the variables' memory, as a device reset does; the next use starts them anew.
  void unload();
  /// @throws ModuleError
  const std::shared_ptr<const Kernel>& decode(KernelEntry& entry);
  /// Address of a variable in device memory. @throws ModuleError
  void* address(const VariableEntry& variable);

 private:
  void parse();
  void link();

  const void* x_image;
  const Chip& x_chip;
  MemoryTable& x_memory;
  std::optional<ptx::Module> x_ptx;
  std::unordered_map<std::string_view, const ptx::Function*> x_functions;  ///< kernels
  bool x_loaded = false;
  Symbols x_symbols;
  std::vector<void*> x_variable_memory;
  std::vector<VariableEntry*> x_managed;
};

/// Picks the newest PTX that `chip` can run, as the driver does; null when there is none.
const ptx::Embedded* choose_ptx(std::span<const ptx::Embedded> texts, const Chip& chip);

/// Everything registered in this process: which module a host-side symbol stands for.
class ModuleTable {
 public:
  ModuleTable(const Chip& chip, MemoryTable& memory) : x_chip(chip), x_memory(memory) {}

  Module* add_module(const void* image);
  void remove_module(Module* module);
  void add_kernel(Module* module, const void* host_function, std::string name);
  struct Variable {
    const void* host = nullptr;
    void** managed = nullptr;
    std::string name = {};
    std::size_t bytes = 0;
    bool constant = false;
  };
  void add_variable(Module* module, const Variable& variable);
  void unload_all();

  /// By the address of the host's stub or as a cudaKernel_t; null for others.
  KernelEntry* kernel(const void* function);
  VariableEntry* variable(const void* host_variable);

  /// Serialises loading and decoding.
  std::mutex& mutex() { return x_mutex; }

 private:
  const Chip& x_chip;
  MemoryTable& x_memory;
  std::mutex x_mutex;
  std::vector<std::unique_ptr<Module>> x_modules;
  std::vector<std::unique_ptr<KernelEntry>> x_kernels;
  std::unordered_map<const void*, KernelEntry*> x_by_function;  ///< the host's stub and the entry itself
  std::unordered_map<const void*, std::unique_ptr<VariableEntry>> x_variables;
};

}  // namespace pkb::virtual_gpu
