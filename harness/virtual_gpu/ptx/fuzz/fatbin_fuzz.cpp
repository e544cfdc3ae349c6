// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <span>

#include "harness/virtual_gpu/ptx/module.h"

// Any bytes give PTX texts or ParseError.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pkb::virtual_gpu::ptx;
  try {
    extract_ptx(std::as_bytes(std::span(data, size)));
  } catch (const ParseError&) {
  }
  return 0;
}
