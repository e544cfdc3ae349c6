// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/tensor_map.h"

#include <algorithm>
#include <cstring>

namespace pkb::virtual_gpu {
namespace {

using Type = TensorMap::Type;
using Interleave = TensorMap::Interleave;
using Swizzle = TensorMap::Swizzle;
using Atom = TensorMap::Atom;

constexpr std::uint64_t kChunk = 16;  // what swizzling keeps together at least

std::uint32_t span_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none:
      return 0;
    case Swizzle::bytes_32:
      return 32;
    case Swizzle::bytes_64:
      return 64;
    case Swizzle::bytes_128:
      return 128;
  }
  return 0;
}

/// Bytes between the rows of a box in shared memory.
std::uint32_t pitch_of(const TensorMap& map) {
  if (map.interleave != Interleave::none) return map.row_bytes();
  return std::max(map.row_bytes(), span_of(map.swizzle));
}

std::uint32_t steps(const TensorMap& map, int dimension) {
  const auto i = static_cast<std::size_t>(dimension);
  if (dimension == 0 && map.interleave == Interleave::none) return map.box[0];
  // The ISA does not say so, but an H200 moves one slice of channels, whatever the box has there.
  if (dimension == map.rank - 2 && map.interleave != Interleave::none) return 1;
  return (map.box[i] + map.step[i] - 1u) / map.step[i];
}

std::uint32_t rows_of(const TensorMap& map) {
  if (map.mode == TensorMap::Mode::im2col) return map.pixels;
  std::uint32_t rows = 1;
  for (int i = 1; i < map.rank; ++i) rows *= steps(map, i);
  return rows;
}

using Coordinates = std::array<std::int64_t, TensorMap::kMostDimensions>;

/// Appends the pieces of rows, each `row_bytes` long and starting at some coordinates.
class Rows {
 public:
  Rows(const TensorMap& map, const TensorBox& box) : x_map(map), x_shared(box.shared_address) {}

  void append(const Coordinates& start) {
    const std::uint32_t unit = x_map.unit_bytes();
    const std::int64_t step = x_map.interleave == Interleave::none ? 1 : x_map.step[0];
    const std::int64_t count = x_map.row_bytes() / unit;
    std::uint64_t address = x_map.address;
    bool row_inside = true;
    for (int i = 1; i < x_map.rank; ++i) {
      const std::int64_t at = start[static_cast<std::size_t>(i)];
      row_inside &= at >= 0 && at < x_map.size(i);
      address += static_cast<std::uint64_t>(at) * x_map.stride[static_cast<std::size_t>(i) - 1];
    }
    // Units first..end of the row lie in the tensor.
    std::int64_t first = 0, end = 0;
    if (row_inside) {
      first = std::clamp<std::int64_t>((-start[0] + step - 1) / step, 0, count);
      end = std::clamp<std::int64_t>((x_map.size(0) - start[0] + step - 1) / step, first, count);
    }
    const auto address_of = [&](std::int64_t i) {
      return address + static_cast<std::uint64_t>(start[0] + i * step) * unit;
    };
    append_units(0, first, 0, false);
    if (step == 1)
      append_units(first, end, address_of(first), true);
    else
      for (std::int64_t i = first; i < end; ++i) append_units(i, i + 1, address_of(i), true);
    append_units(end, count, 0, false);
    ++x_row;
  }

  std::vector<TensorPiece> take() { return std::move(x_pieces); }

 private:
  void append_units(std::int64_t begin, std::int64_t end, std::uint64_t global, bool inside) {
    const std::uint64_t row = x_shared + std::uint64_t{x_row} * pitch_of(x_map);
    std::uint64_t at = row + static_cast<std::uint64_t>(begin) * x_map.unit_bytes();
    const std::uint64_t stop = row + static_cast<std::uint64_t>(end) * x_map.unit_bytes();
    const std::uint64_t whole = x_map.swizzle == Swizzle::none         ? ~0ull
                                : x_map.atom == Atom::bytes_32_flipped ? kChunk / 2
                                                                       : kChunk;
    while (at < stop) {
      const std::uint64_t bytes = std::min(stop - at, whole - at % whole);
      x_pieces.push_back({inside ? global : 0, static_cast<std::uint32_t>(swizzled(x_map, at) - x_shared),
                          static_cast<std::uint32_t>(bytes), inside});
      at += bytes;
      global += bytes;
    }
  }

  const TensorMap& x_map;
  std::uint64_t x_shared;
  std::uint32_t x_row = 0;
  std::vector<TensorPiece> x_pieces;
};

void append_tile(const TensorMap& map, const TensorBox& box, Rows& rows) {
  std::array<std::uint32_t, TensorMap::kMostDimensions> index{};
  for (;;) {
    Coordinates start{};
    for (std::size_t i = 0; i < map.rank; ++i)
      start[i] = box.coordinates[i] + std::int64_t{index[i]} * map.step[i];
    rows.append(start);
    int i = 1;
    for (; i < map.rank && ++index[static_cast<std::size_t>(i)] == steps(map, i); ++i)
      index[static_cast<std::size_t>(i)] = 0;
    if (i >= map.rank) return;
  }
}

/// The bounding box along spatial dimension `i`: first coordinate and the one behind the last.
struct Bounds {
  std::int64_t begin, end;
};
Bounds bounds_of(const TensorMap& map, std::size_t i) {
  return {map.lower[i], map.size(static_cast<int>(i) + 1) + map.upper[i]};
}

// The filter base walks through the bounding box, W first, then on to the next image; the pixel is `offsets`
// further. The walk starts anew at a bound's lower end, whatever the step left over.
void append_columns(const TensorMap& map, const TensorBox& box, Rows& rows) {
  const std::size_t spatial = map.rank - 2u;
  Coordinates base{};
  std::copy(box.coordinates.begin(), box.coordinates.end(), base.begin());
  for (std::uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    Coordinates start = base;
    for (std::size_t i = 0; i < spatial; ++i) start[i + 1] += box.offsets[i];
    rows.append(start);
    std::size_t i = 0;
    for (; i < spatial; ++i) {
      const Bounds bounds = bounds_of(map, i);
      if ((base[i + 1] += map.step[i + 1]) < bounds.end) break;
      base[i + 1] = bounds.begin;
    }
    if (i == spatial) base[spatial + 1] += map.step[spatial + 1];
  }
}

const char* problem_of_column(const TensorMap& map) {
  if (map.rank < 3) return "im2col needs at least 3 dimensions";
  if (map.channels == 0 || map.channels > 256) return "im2col takes 1 to 256 channels per pixel";
  if (map.pixels == 0 || map.pixels > 1024) return "im2col takes 1 to 1024 pixels per column";
  const int limit = map.rank == 3 ? 1 << 15 : map.rank == 4 ? 1 << 7 : 1 << 4;
  for (std::size_t i = 0; i + 2 < map.rank; ++i) {
    for (const int corner : {map.lower[i], map.upper[i]})
      if (corner < -limit || corner >= limit) return "a corner of the bounding box is out of its range";
    const Bounds bounds = bounds_of(map, i);
    if (bounds.begin >= bounds.end) return "the bounding box is empty";
  }
  return nullptr;
}

}  // namespace

std::uint32_t bytes_of(Type type) {
  switch (type) {
    case Type::u8:
      return 1;
    case Type::u16:
    case Type::f16:
    case Type::bf16:
      return 2;
    case Type::u32:
    case Type::s32:
    case Type::f32:
    case Type::f32_ftz:
    case Type::tf32:
    case Type::tf32_ftz:
      return 4;
    case Type::u64:
    case Type::s64:
    case Type::f64:
      return 8;
  }
  return 0;
}

bool is_floating(Type type) { return type >= Type::f16; }

std::uint32_t TensorMap::unit_bytes() const {
  switch (interleave) {
    case Interleave::none:
      return bytes_of(type);
    case Interleave::bytes_16:
      return 16;
    case Interleave::bytes_32:
      return 32;
  }
  return 0;
}

std::uint32_t TensorMap::row_bytes() const {
  return (mode == Mode::im2col ? channels : steps(*this, 0)) * unit_bytes();
}

const char* problem_of(const TensorMap& map) {
  if (map.mark != TensorMap::kMark) return "it is no tensor map";
  if (map.rank == 0 || map.rank > TensorMap::kMostDimensions) return "a tensor has 1 to 5 dimensions";
  if (map.type > Type::tf32_ftz || map.interleave > Interleave::bytes_32 ||
      map.swizzle > Swizzle::bytes_128 || map.atom > Atom::bytes_64 || map.fill > TensorMap::Fill::nan ||
      map.mode > TensorMap::Mode::im2col)
    return "a field has a value that it cannot have";
  if (map.interleave != Interleave::none && map.rank < 3)
    return "an interleaved tensor has at least 3 dimensions";
  const std::uint64_t alignment = map.interleave == Interleave::bytes_32 ? 32 : 16;
  if (map.address % alignment != 0)
    return "the tensor's address is not a multiple of 16 (32 if interleaved by 32)";
  for (std::size_t i = 0; i + 1 < map.rank; ++i)
    if (map.stride[i] % alignment != 0 || map.stride[i] >= 1ull << 40)
      return "a stride is not a multiple of 16 (32 if interleaved by 32) below 2^40";
  for (std::size_t i = 0; i < map.rank; ++i)
    if (map.step[i] == 0 || map.step[i] > 8) return "a traversal stride is not from 1 to 8";
  if (map.mode == TensorMap::Mode::im2col) {
    if (const char* problem = problem_of_column(map)) return problem;
  } else {
    for (std::size_t i = 0; i < map.rank; ++i)
      if (map.box[i] == 0 || map.box[i] > 256) return "a box is not from 1 to 256 elements long";
  }
  const std::uint32_t inner = map.mode == TensorMap::Mode::im2col ? map.channels : map.box[0];
  if (inner * bytes_of(map.type) % 16 != 0) return "the box's inner dimension is not a multiple of 16 bytes";
  if (map.interleave == Interleave::none) {
    if (map.swizzle != Swizzle::none && map.row_bytes() > span_of(map.swizzle))
      return "the box's inner dimension is longer than the swizzle span";
  }
  if (map.interleave == Interleave::bytes_32 && map.swizzle != Swizzle::bytes_32)
    return "interleaving by 32 bytes goes with swizzling by 32 bytes only";
  if (map.swizzle != Swizzle::bytes_128 && map.atom != Atom::bytes_16)
    return "atoms of more than 16 bytes go with swizzling by 128 bytes only";
  if (map.fill == TensorMap::Fill::nan && !is_floating(map.type)) return "integers cannot be filled with NaN";
  return nullptr;
}

std::uint64_t swizzled(const TensorMap& map, std::uint64_t address) {
  const std::uint64_t line = address / 128;
  switch (map.swizzle) {
    case Swizzle::none:
      return address;
    case Swizzle::bytes_32:
      return address ^ (line % 2) * 16;
    case Swizzle::bytes_64:
      return address ^ (line % 4) * 16;
    case Swizzle::bytes_128:
      break;
  }
  switch (map.atom) {
    case Atom::bytes_16:
      return address ^ (line % 8) * 16;
    case Atom::bytes_32:
      return address ^ (line % 4) * 32;
    case Atom::bytes_32_flipped:
      return address ^ (line % 4) * 32 ^ (line % 2) * 8;
    case Atom::bytes_64:
      return address ^ (line % 2) * 64;
  }
  return address;
}

std::vector<TensorPiece> pieces_of(const TensorMap& map, const TensorBox& box) {
  Rows rows(map, box);
  if (map.mode == TensorMap::Mode::im2col)
    append_columns(map, box, rows);
  else
    append_tile(map, box, rows);
  return rows.take();
}

std::uint32_t box_bytes(const TensorMap& map) { return rows_of(map) * map.row_bytes(); }

std::uint32_t box_extent(const TensorMap& map) { return rows_of(map) * pitch_of(map); }

bool in_bounding_box(const TensorMap& map, const TensorBox& box) {
  for (std::size_t i = 0; i + 2 < map.rank; ++i) {
    const Bounds bounds = bounds_of(map, i);
    if (box.coordinates[i + 1] < bounds.begin || box.coordinates[i + 1] >= bounds.end) return false;
  }
  return true;
}

void fill(const TensorMap& map, std::span<std::byte> bytes) {
  if (map.fill == TensorMap::Fill::zero) return std::memset(bytes.data(), 0, bytes.size()), void();
  // The NaN that asks an FMA with .oob for zero: 0x7ff7 in every 16 bits, whatever the type.
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte{i % 2 == 0 ? std::uint8_t{0xf7} : std::uint8_t{0x7f}};
}

bool is_tf32(Type type) { return type == Type::tf32 || type == Type::tf32_ftz; }

void round_to_tf32(std::byte* values, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(std::uint32_t)) {
    std::uint32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
      bits = 0x7fffe000;
    else
      bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    std::memcpy(values + i, &bits, sizeof bits);
  }
}

}  // namespace pkb::virtual_gpu
