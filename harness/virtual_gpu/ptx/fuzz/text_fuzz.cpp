// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>

#include "harness/virtual_gpu/ptx/module.h"

// Any text is laid out function by function or refused with ParseError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pkb::virtual_gpu::ptx;
  try {
    const Module module = parse({reinterpret_cast<const char*>(data), size});
    for (const Function& function : module.functions)
      if (!function.declared_only) lay_out(function);
  } catch (const ParseError&) {
  }
  return 0;
}
