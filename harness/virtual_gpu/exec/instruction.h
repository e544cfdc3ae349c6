// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "harness/virtual_gpu/exec/exec.h"

namespace pkb::virtual_gpu {

/// One decoded step; most PTX statements are one. Operands are byte offsets into a warp's register file,
/// where constants live too, so a handler never asks what kind an operand is.
struct alignas(64) Instruction {
  Handler execute = nullptr;
  Handler inner = nullptr;  ///< what `execute` runs in the lanes where the guard holds
  std::uint32_t d = 0, a = 0, b = 0, c = 0;
  std::uint32_t e = 0;          ///< second destination, or a further source
  std::uint32_t guard = 0;      ///< predicate of a guard or branch
  std::uint64_t immediate = 0;  ///< added to an address, or what the handler says
  std::int32_t target = 0;      ///< of a branch: distance in instructions; else what the handler says
  std::uint32_t run = 1;        ///< instructions from here to the next that may jump, that one included
  std::uint32_t place = 0;      ///< index into Kernel::places
  std::uint16_t count = 1;      ///< elements of a vector operand, whose offsets are Kernel::lists[list...]
  bool negated = false;         ///< guard
  std::uint8_t flags = 0;       ///< what the handler says

  std::uint32_t list() const { return e; }
};
static_assert(sizeof(Instruction) == 64);

/// Width of an operand's slot in the register file.
enum class Slot : std::uint8_t {
  none,
  predicate,  ///< one bit a lane: 4 bytes
  word,       ///< 4 bytes a lane; 16-bit values in the low half, the high half unspecified
  quad,       ///< 8 bytes a lane
};

}  // namespace pkb::virtual_gpu
