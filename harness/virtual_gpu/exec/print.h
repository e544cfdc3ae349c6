// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "harness/virtual_gpu/exec/warp.h"

/// printf of device code.
namespace pkb::virtual_gpu {

/// Where one thread's printf finds what it prints. `bytes` is 4 or 8; `offset` counts from the first
/// argument.
struct PrintSource {
  std::function<std::uint64_t(std::uint64_t offset, std::uint32_t bytes)> argument;
  std::function<std::string(std::uint64_t address)> text;
};

struct Printed {
  std::string text;
  int arguments = 0;
};

/// Formats as C does. Arguments lie as CUDA packs them: promoted, each on a multiple of its size.
Printed format_print(std::string_view format, const PrintSource& source);

/// vprintf(format, arguments): a call, with its operands as in CallList.
void print(Warp& warp, const Instruction& in);

}  // namespace pkb::virtual_gpu
