// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/fuzz/run_bounded.h"

#include <cstddef>
#include <cstdint>

// Any text: what parses is decoded and executed.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pkb::virtual_gpu::run_bounded({reinterpret_cast<const char*>(data), size}, 40, 0);
  return 0;
}
