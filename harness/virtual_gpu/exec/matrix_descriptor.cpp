// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix_descriptor.h"

namespace pkb::virtual_gpu {

MatrixDescriptor MatrixDescriptor::decode(std::uint64_t bits) {
  const auto field = [bits](unsigned at) { return static_cast<std::uint32_t>(bits >> at & 0x3fff) << 4; };
  const auto mode = static_cast<std::uint32_t>(bits >> 62);
  return {.start = field(0),
          .leading = field(16),
          .stride = field(32),
          .base_offset = static_cast<std::uint32_t>(bits >> 49 & 7),
          .swizzle = mode == 0 ? 0 : 4 - mode};  // 1: 128 bytes, 2: 64, 3: 32
}

// Bits 4 and up of an address are exclusive-ored with bits 7 and up, which count rows of 128 bytes.
std::uint32_t MatrixDescriptor::swizzled(std::uint32_t offset) const {
  const std::uint32_t address = (start + offset) & 0x3ffff;
  const std::uint32_t row = (address >> 7) - base_offset;
  return address ^ (row & ((1u << swizzle) - 1)) << 4;
}

std::uint32_t MatrixDescriptor::along_k(std::uint32_t line, std::uint32_t piece) const {
  return swizzled(line % 8 * width() + line / 8 * stride + piece * (swizzle == 0 ? leading : 16));
}

std::uint32_t MatrixDescriptor::across_k(std::uint32_t piece, std::uint32_t k) const {
  const std::uint32_t pieces = 1u << swizzle;  // of a row
  const std::uint32_t next_lines = swizzle == 0 ? stride : leading, next_k = swizzle == 0 ? leading : stride;
  return swizzled(piece % pieces * 16 + piece / pieces * next_lines + k % 8 * width() + k / 8 * next_k);
}

}  // namespace pkb::virtual_gpu
