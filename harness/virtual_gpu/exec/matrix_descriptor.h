// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pkb::virtual_gpu {

/// A matrix in shared memory as wgmma is told of it (PTX ISA 9.7.15.5.1). It is read in pieces of 16 bytes. A
/// "line" is a row of A or a column of B. Memory is seen in atoms of eight rows of `width()` bytes.
struct MatrixDescriptor {
  std::uint32_t start = 0, leading = 0, stride = 0;  ///< bytes
  std::uint32_t base_offset = 0;                     ///< phase at which the swizzle's pattern starts, 0 to 7
  std::uint32_t swizzle = 0;                         ///< address bits exchanged: 0, or 1, 2, 3 for 32, 64, 128 bytes

  static MatrixDescriptor decode(std::uint64_t bits);

  std::uint32_t width() const { return 16u << swizzle; }
  /// K-major: the `piece`-th 16 bytes of `line`. The lines of an atom are its rows. Swizzled atoms hold all
  /// the pieces of a line, others one, and the next piece lies `leading` bytes on; the next eight lines lie
  /// `stride` bytes on.
  std::uint32_t along_k(std::uint32_t line, std::uint32_t piece) const;
  /// MN-major: eight 16-bit elements at `k`, of lines 8 * `piece` and on. An atom has a row for each of eight
  /// k. Swizzled, the next eight k lie `stride` bytes on and the lines that follow those of an atom `leading`
  /// bytes; without swizzle it is the other way round.
  std::uint32_t across_k(std::uint32_t piece, std::uint32_t k) const;

 private:
  std::uint32_t swizzled(std::uint32_t offset) const;
};

}  // namespace pkb::virtual_gpu
