// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/module.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

#include "harness/virtual_gpu/exec/demangle.h"

namespace pkb::virtual_gpu {
namespace {

// "sm_90a" in the PTX's .target line: the letter ties it to one architecture.
struct Target {
  std::uint32_t architecture = 0;
  bool exact = false;
};

Target target_of(const ptx::Embedded& embedded) {
  constexpr std::string_view kDirective = ".target sm_";
  const std::string_view text = embedded.text;
  const std::size_t found = text.find(kDirective);
  if (found == std::string_view::npos) return {embedded.architecture, false};
  const std::string_view rest = text.substr(found + kDirective.size());
  Target target;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), target.architecture);
  target.exact = error == std::errc() && end != rest.data() + rest.size() && (*end == 'a' || *end == 'f');
  return target;
}

// Where the addresses of device functions lie: nothing else has such addresses.
constexpr std::uint64_t kFunctionWindow = 3ull << 60;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace

const ptx::Embedded* choose_ptx(std::span<const ptx::Embedded> texts, const Chip& chip) {
  const ptx::Embedded* best = nullptr;
  Target best_target;
  const auto own = static_cast<std::uint32_t>(chip.architecture());
  for (const ptx::Embedded& embedded : texts) {
    const Target target = target_of(embedded);
    if (target.exact ? target.architecture != own : target.architecture > own) continue;
    if (best != nullptr && std::pair(target.architecture, target.exact) <=
                               std::pair(best_target.architecture, best_target.exact)) {
      continue;
    }
    best = &embedded;
    best_target = target;
  }
  return best;
}

Module::~Module() { unload(); }

void Module::load() {
  if (x_loaded) return;
  if (!x_ptx) parse();
  link();
  x_loaded = true;
}

void Module::unload() {
  for (void* memory : x_variable_memory) {
    for (const MemoryKind kind : {MemoryKind::variable, MemoryKind::managed}) x_memory.release(memory, kind);
  }
  x_variable_memory.clear();
  x_symbols.clear();
  x_loaded = false;
}

void Module::parse() try {
  const auto* bytes = static_cast<const std::byte*>(x_image);
  const std::vector<ptx::Embedded> texts = ptx::extract_ptx({bytes, ptx::image_bytes(x_image)});
  const ptx::Embedded* text = choose_ptx(texts, x_chip);
  if (text == nullptr) {
    throw ModuleError(texts.empty() ? "the module carries no PTX"
                                    : fmt::format("the module carries no PTX for compute capability {}.{}",
                                                  x_chip.major, x_chip.minor));
  }
  x_ptx = ptx::parse(text->text);
  for (const ptx::Function& function : x_ptx->functions) {
    if (function.kernel && !function.declared_only) x_functions.emplace(function.name, &function);
  }
} catch (const ptx::ParseError& error) {
  throw ModuleError(error.what());
}

void Module::link() {
  std::uint64_t next_function = kFunctionWindow;
  for (const ptx::Function& function : x_ptx->functions) {
    if (!function.kernel && !function.declared_only) x_symbols[function.name] = next_function += 16;
  }
  for (const ptx::Variable& variable : x_ptx->variables) {
    if (variable.space != ptx::Space::global && variable.space != ptx::Space::constant) continue;
    if (variable.external) {
      throw ModuleError(fmt::format("variable {} is declared extern and defined in no module", demangled(variable.name)));
    }
    const bool managed = std::ranges::any_of(
        x_managed, [&](const VariableEntry* entry) { return entry->name == variable.name; });
    void* memory = x_memory.allocate({.bytes = std::max<std::size_t>(variable.bytes, 1),
                                      .kind = managed ? MemoryKind::managed : MemoryKind::variable,
                                      .align = variable.align,
                                      .name = "variable " + demangled(variable.name),
                                      .constant = variable.space == ptx::Space::constant});
    if (memory == nullptr) throw ModuleError(fmt::format("no memory for variable {}", demangled(variable.name)));
    std::byte* const bytes = x_memory.find(memory)->host(memory);
    std::memset(bytes, 0, variable.bytes);
    if (!variable.initial.empty()) std::memcpy(bytes, variable.initial.data(), variable.initial.size());
    x_variable_memory.push_back(memory);
    x_symbols[variable.name] = address_of(memory);
  }
  for (const ptx::Variable& variable : x_ptx->variables) {
    for (const ptx::Variable::Relocation& relocation : variable.relocations) {
      const auto symbol = x_symbols.find(relocation.symbol);
      if (symbol == x_symbols.end()) {
        throw ModuleError(fmt::format("variable {} holds the address of {}, which the module does not define",
                                      demangled(variable.name), demangled(relocation.symbol)));
      }
      const std::uint64_t value = (symbol->second + relocation.addend) >> relocation.shift;
      const auto* const memory = reinterpret_cast<const std::byte*>(x_symbols[variable.name]);
      std::memcpy(x_memory.find(memory)->host(memory) + relocation.offset, &value, relocation.bytes);
    }
  }
  for (const VariableEntry* managed : x_managed) {
    const auto symbol = x_symbols.find(managed->name);
    if (symbol != x_symbols.end()) *managed->managed = reinterpret_cast<void*>(symbol->second);
  }
}

const std::shared_ptr<const Kernel>& Module::decode(KernelEntry& entry) {
  load();
  if (entry.kernel) return entry.kernel;
  const auto function = x_functions.find(entry.name);
  if (function == x_functions.end()) throw ModuleError("its PTX has no such kernel");
  try {
    entry.kernel = std::make_shared<const Kernel>(virtual_gpu::decode(*x_ptx, *function->second, x_symbols));
  } catch (const ptx::ParseError& error) {
    throw ModuleError(error.what());
  }
  return entry.kernel;
}

void* Module::address(const VariableEntry& variable) {
  load();
  const auto symbol = x_symbols.find(variable.name);
  if (symbol == x_symbols.end()) throw ModuleError("its PTX has no variable " + demangled(variable.name));
  return reinterpret_cast<void*>(symbol->second);
}

Module* ModuleTable::add_module(const void* image) {
  std::lock_guard lock(x_mutex);
  return x_modules.emplace_back(std::make_unique<Module>(image, x_chip, x_memory)).get();
}

void ModuleTable::remove_module(Module* module) {
  std::lock_guard lock(x_mutex);
  std::erase_if(x_by_function, [&](const auto& entry) { return entry.second->module == module; });
  std::erase_if(x_kernels, [&](const auto& entry) { return entry->module == module; });
  std::erase_if(x_variables, [&](const auto& entry) { return entry.second->module == module; });
  std::erase_if(x_modules, [&](const auto& entry) { return entry.get() == module; });
}

void ModuleTable::add_kernel(Module* module, const void* host_function, std::string name) {
  auto entry = std::make_unique<KernelEntry>();
  entry->module = module;
  entry->name = std::move(name);
  std::lock_guard lock(x_mutex);
  x_by_function[host_function] = x_by_function[entry.get()] = entry.get();
  x_kernels.push_back(std::move(entry));
}

void ModuleTable::add_variable(Module* module, const Variable& variable) {
  auto entry = std::make_unique<VariableEntry>(VariableEntry{.module = module,
                                                             .name = variable.name,
                                                             .bytes = variable.bytes,
                                                             .constant = variable.constant,
                                                             .managed = variable.managed});
  std::lock_guard lock(x_mutex);
  if (entry->managed != nullptr) module->add_managed(*entry);
  x_variables[variable.host] = std::move(entry);
}

void ModuleTable::unload_all() {
  std::lock_guard lock(x_mutex);
  for (const auto& module : x_modules) module->unload();
  for (const auto& entry : x_kernels) entry->kernel.reset();
}

KernelEntry* ModuleTable::kernel(const void* function) {
  std::lock_guard lock(x_mutex);
  const auto found = x_by_function.find(function);
  return found == x_by_function.end() ? nullptr : found->second;
}

VariableEntry* ModuleTable::variable(const void* host_variable) {
  std::lock_guard lock(x_mutex);
  const auto found = x_variables.find(host_variable);
  return found == x_variables.end() ? nullptr : found->second.get();
}

}  // namespace pkb::virtual_gpu
