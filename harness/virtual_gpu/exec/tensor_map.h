// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

/// Tensor maps and the boxes that tensor copies move (PTX ISA 5.5). The functions by which host code makes
/// tensor maps, with the driver's signatures, are in runtime/tensor_map_encode.h.
namespace pkb::virtual_gpu {

/// What the 128 opaque bytes of a CUtensorMap hold here. Dimension 0 is the innermost. Interleaved tensors
/// count slices of 16 or 32 bytes as their elements: W, H, D (as many as there are), C / slice, N.
struct TensorMap {
  static constexpr std::uint32_t kMark = 0x70616d74;
  static constexpr int kMostDimensions = 5;

  // Enumerators are numbered as tensormap.replace numbers them (PTX ISA 9.7.9.28, table 33).
  enum class Type : std::uint8_t {
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f32_ftz,
    f64,
    bf16,
    tf32,
    tf32_ftz
  };
  enum class Interleave : std::uint8_t { none, bytes_16, bytes_32 };
  enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
  enum class Atom : std::uint8_t {
    bytes_16,
    bytes_32,
    bytes_32_flipped,
    bytes_64
  };  ///< of Swizzle::bytes_128
  enum class Fill : std::uint8_t { zero, nan };
  enum class Mode : std::uint8_t { tile, im2col };

  std::uint64_t address = 0;
  std::array<std::uint64_t, kMostDimensions - 1>
      stride{};                                       ///< bytes from one index of dimension i + 1 to the next
  std::array<std::uint32_t, kMostDimensions> last{};  ///< size of each dimension less 1
  std::uint32_t mark = kMark;
  std::array<std::uint16_t, kMostDimensions> box{};
  std::array<std::uint16_t, kMostDimensions> step{};  ///< traversal stride
  std::array<std::int16_t, 3> lower{}, upper{};       ///< im2col: corners of the bounding box, W first
  std::uint16_t channels = 0, pixels = 0;             ///< im2col: of a column
  std::uint8_t rank = 0;
  Type type = Type::u8;
  Interleave interleave = Interleave::none;
  Swizzle swizzle = Swizzle::none;
  Atom atom = Atom::bytes_16;
  Fill fill = Fill::zero;
  Mode mode = Mode::tile;
  std::array<std::uint8_t, 21> reserved{};

  std::int64_t size(int dimension) const {
    return std::int64_t{last[static_cast<std::size_t>(dimension)]} + 1;
  }
  /// What one step along dimension 0 moves: an element, or a slice of an interleaved tensor.
  std::uint32_t unit_bytes() const;
  /// A box's bytes along dimension 0, or a pixel's.
  std::uint32_t row_bytes() const;
};
static_assert(sizeof(TensorMap) == 128);

std::uint32_t bytes_of(TensorMap::Type type);
bool is_floating(TensorMap::Type type);

/// Why no copy may use `map`, or null. The rules are those of the driver's encode functions.
const char* problem_of(const TensorMap& map);

/// Where a byte of an unswizzled box at a shared address goes: 16-byte chunks are exchanged within 128-byte
/// lines by the number of the line, so the pattern depends on the address and repeats every 8 lines at most.
std::uint64_t swizzled(const TensorMap& map, std::uint64_t shared_address);

/// A part of a box that is contiguous in global and in shared memory.
struct TensorPiece {
  std::uint64_t global = 0;  ///< address; meaningless unless `inside`
  std::uint32_t shared = 0;  ///< bytes behind the copy's address in shared memory
  std::uint32_t bytes = 0;
  bool inside = false;  ///< of the tensor: what is not is filled by a load, skipped by a store

  bool operator==(const TensorPiece&) const = default;
};

/// Which box a copy moves.
struct TensorBox {
  std::array<std::int32_t, TensorMap::kMostDimensions> coordinates{};
  std::array<std::uint16_t, 3> offsets{};  ///< im2col, W first
  std::uint32_t shared_address = 0;        ///< a multiple of 128
};

/// The pieces of a box in the order of its elements; together they are box_bytes(map) long. `map` has no
/// problem, and for im2col the coordinates lie in the bounding box.
std::vector<TensorPiece> pieces_of(const TensorMap& map, const TensorBox& box);

/// Bytes that a copy moves, elements outside of the tensor included: what it completes on an mbarrier.
std::uint32_t box_bytes(const TensorMap& map);

/// Bytes of shared memory from the copy's address to the end of the box: rows narrower than the swizzle span
/// are as far apart as the span.
std::uint32_t box_extent(const TensorMap& map);

/// Whether the filter base of an im2col copy lies in the bounding box, as it must.
bool in_bounding_box(const TensorMap& map, const TensorBox& box);

/// Gives `bytes`, whole elements of a piece outside of the tensor, the value that loads put there.
void fill(const TensorMap& map, std::span<std::byte> bytes);

/// Loads round the elements of tensors of these types by round_to_tf32().
bool is_tf32(TensorMap::Type type);
/// Rounds floats to 10 bits of fraction, to the nearest, ties to even; `bytes` is a multiple of 4.
void round_to_tf32(std::byte* values, std::size_t bytes);

}  // namespace pkb::virtual_gpu
