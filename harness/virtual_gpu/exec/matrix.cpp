// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// mma, wmma, ldmatrix, stmatrix of 16-bit floats (PTX ISA 9.7.14). A whole warp works on one matrix. Sums are
// taken in fp32 over k in ascending order, starting from C; tensor cores add several products at once and
// round differently, so results agree bit for bit only where no sum is rounded.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;

constexpr std::size_t kLargest = 32 * 16;  // elements of a matrix
constexpr std::uint32_t kChunk = 16;       // bytes that are moved at once: rows start on multiples of it
constexpr Word kNan32 = 0x7fffffff;        // what mma gives for NaN

/// A matrix that a warp holds, `registers` in each thread, each one fp32 or two 16-bit elements.
struct Shape {
  enum Role : std::uint8_t { a, b, accumulator };
  std::uint8_t rows, columns, registers;
  Role role;
  bool wide;    ///< fp32
  bool opaque;  ///< of wmma

  std::uint32_t per_register() const { return wide ? 1 : 2; }
  std::uint32_t share() const { return rows * columns / std::uint32_t{kLanes}; }

  /// The element (in row-major order) at a place of a thread's fragment. The layout of wmma is unspecified:
  /// here a thread holds consecutive elements, again from the first where it has more places than these. That
  /// of mma is documented: thread t of four in group g of eight.
  std::uint32_t element(std::uint32_t lane, std::uint32_t place) const {
    if (opaque) return lane * share() + place % share();
    const std::uint32_t g = lane / 4, t = lane % 4, pair = place / 2, low = place % 2;
    switch (role) {
      case a:
        return (g + 8 * (pair % 2)) * columns + 2 * t + low + 8 * (pair / 2);
      case b:
        return (2 * t + low + 8 * pair) * columns + g;
      case accumulator:
        return (g + 8 * pair) * columns + 2 * t + low;
    }
    return 0;
  }
};

using Matrix = std::array<Word, kLargest>;  // bits of each element, in row-major order

void gather(Warp& warp, const Shape& shape, const std::uint32_t* registers, Matrix& matrix) {
  const std::uint32_t each = shape.per_register();
  for (std::uint32_t place = 0; place < shape.share(); ++place) {
    const Word* values = warp.at<Word>(registers[place / each]);
    const unsigned shift = shape.wide ? 0 : 16 * (place % 2);
    for (std::uint32_t lane = 0; lane < kLanes; ++lane)
      matrix[shape.element(lane, place)] = values[lane] >> shift;
  }
}

void scatter(Warp& warp, const Shape& shape, const std::uint32_t* registers, const Matrix& matrix) {
  const std::uint32_t each = shape.per_register();
  for (std::uint32_t i = 0; i < shape.registers; ++i)
    write<Word>(warp, registers[i], [&](int lane) {
      const auto at = [&](std::uint32_t place) {
        return matrix[shape.element(static_cast<std::uint32_t>(lane), place)];
      };
      return shape.wide ? at(i) : (at(each * i) & 0xffff) | at(each * i + 1) << 16;
    });
}

struct Dimensions {
  std::string_view name;
  std::uint8_t m, n, k;
};
constexpr std::array<Dimensions, 2> kMma = {{{"m16n8k16", 16, 8, 16}, {"m16n8k8", 16, 8, 8}}};
constexpr std::array<Dimensions, 3> kWmma = {
    {{"m16n16k16", 16, 16, 16}, {"m32n8k16", 32, 8, 16}, {"m8n32k16", 8, 32, 16}}};

Dimensions take_dimensions(Modifiers& modifiers, const ptx::Statement& statement, bool wmma) {
  for (const Dimensions& d : kMma)
    if (!wmma && modifiers.take(d.name)) return d;
  for (const Dimensions& d : kWmma)
    if (wmma && modifiers.take(d.name)) return d;
  throw Unsupported{statement.opcode};
}

Shape shape_of(const Dimensions& d, Shape::Role role, bool wide, bool opaque) {
  Shape shape{d.m, d.n, 0, role, wide, opaque};
  if (role == Shape::a) shape.columns = d.k;
  if (role == Shape::b) shape.rows = d.k;
  shape.registers = static_cast<std::uint8_t>(shape.share() / shape.per_register());
  return shape;
}

/// fp16 operands of wmma take 8 registers whatever their size.
Shape operand_shape(const Dimensions& d, Shape::Role role, bool brain, bool opaque) {
  Shape shape = shape_of(d, role, false, opaque);
  if (opaque && !brain) shape.registers = 8;
  return shape;
}

using Floats = std::array<float, kLargest>;

template <class T>
void floats(const Matrix& bits, Floats& values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) values[i] = to_float(T{static_cast<std::uint16_t>(bits[i])});
}

void read_operand(Warp& warp, const Shape& shape, bool brain, const std::uint32_t* registers,
                  Floats& values) {
  Matrix bits;
  gather(warp, shape, registers, bits);
  const std::size_t count = std::size_t{shape.rows} * shape.columns;
  if (shape.wide)
    std::memcpy(values.data(), bits.data(), 4 * count);
  else if (brain)
    floats<Brain>(bits, values, count);
  else
    floats<Half>(bits, values, count);
}

// lists[list ...]: registers of D, A, B and C; immediate: m, n, k and whether it is wmma, a byte each.
template <bool brain, bool wide_d, bool wide_c>
void multiply(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, kAllLanes)) return;
  const auto numbers = std::bit_cast<std::array<std::uint8_t, 8>>(in.immediate);
  const Dimensions size{{}, numbers[0], numbers[1], numbers[2]};
  const bool opaque = numbers[3] != 0;
  const Shape d = shape_of(size, Shape::accumulator, wide_d, opaque),
              a = operand_shape(size, Shape::a, brain, opaque),
              b = operand_shape(size, Shape::b, brain, opaque),
              c = shape_of(size, Shape::accumulator, wide_c, opaque);
  const std::uint32_t* registers = warp.block().kernel().lists.data() + in.list();
  Floats left, right, sum;
  const std::uint32_t *of_a = registers + d.registers, *of_b = of_a + a.registers;
  read_operand(warp, a, brain, of_a, left);
  read_operand(warp, b, brain, of_b, right);
  read_operand(warp, c, false, of_b + b.registers, sum);
  for (std::size_t i = 0; i < size.m; ++i)
    for (std::size_t k = 0; k < size.k; ++k)
      for (std::size_t j = 0; j < size.n; ++j)
        sum[i * size.n + j] += left[i * size.k + k] * right[k * size.n + j];
  Matrix result;
  for (std::size_t i = 0; i < std::size_t{size.m} * size.n; ++i)
    if constexpr (wide_d)
      result[i] = std::isnan(sum[i]) ? kNan32 : std::bit_cast<Word>(sum[i]);
    else
      result[i] = to_half(sum[i], Rounding::nearest).bits;
  scatter(warp, d, registers, result);
}

Handler multiply_handler(bool brain, bool wide_d, bool wide_c) {
  if (brain) return multiply<true, true, true>;
  if (wide_d) return wide_c ? multiply<false, true, true> : multiply<false, true, false>;
  return wide_c ? multiply<false, false, true> : multiply<false, false, false>;
}

void expect(const ptx::Statement& statement, const ptx::Operand& operand, std::size_t registers) {
  if (operand.kind != ptx::Operand::Kind::vector || operand.elements.size() != registers)
    throw Unsupported{statement.opcode + " with other registers than the fragment has"};
}

// d, a, b, c
void build_multiply(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers, bool opaque) {
  const Dimensions size = take_dimensions(modifiers, statement, opaque);
  // The layouts of wmma's operands were undone when these were loaded.
  if (opaque)
    while (modifiers.take("row") || modifiers.take("col")) continue;
  else if (!modifiers.take("row") || !modifiers.take("col"))
    throw Unsupported{statement.opcode};
  const auto wide = [&](ptx::Type type) {
    if (type != ptx::Type::f32 && type != ptx::Type::f16) throw Unsupported{statement.opcode};
    return type == ptx::Type::f32;
  };
  const bool wide_c = wide(modifiers.take_type());
  const bool brain = modifiers.take("bf16");
  if (brain && !modifiers.take("bf16")) throw Unsupported{statement.opcode};
  const bool wide_d = [&] {
    if (!opaque && !brain && (!modifiers.take("f16") || !modifiers.take("f16")))
      throw Unsupported{statement.opcode};
    return wide(modifiers.take_type());
  }();
  modifiers.finish();
  if ((brain && !(wide_d && wide_c)) || statement.operands.size() != 4) throw Unsupported{statement.opcode};
  const std::array<Shape, 4> shapes = {
      shape_of(size, Shape::accumulator, wide_d, opaque), operand_shape(size, Shape::a, brain, opaque),
      operand_shape(size, Shape::b, brain, opaque), shape_of(size, Shape::accumulator, wide_c, opaque)};
  std::vector<std::uint32_t> registers;
  for (std::size_t i = 0; i < 4; ++i) {
    expect(statement, statement.operands[i], shapes[i].registers);
    for (const ptx::Operand& element : statement.operands[i].elements)
      registers.push_back(i == 0 ? decoder.destination(element, Slot::word)
                                 : decoder.source(element, Slot::word));
  }
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(multiply_handler(brain, wide_d, wide_c));
  in.e = list;
  in.immediate = std::bit_cast<std::uint64_t>(std::array<std::uint8_t, 8>{size.m, size.n, size.k, opaque});
}

// An address of the first executing lane: wmma wants all lanes to give the same.
std::uint64_t uniform_address(Warp& warp, const Instruction& in, Slot slot) {
  const int lane = warp.first_lane();
  return (slot == Slot::quad ? warp.at<std::uint64_t>(in.a)[lane] : warp.at<Word>(in.a)[lane]) + in.immediate;
}

/// What wmma.load and wmma.store say in Instruction::c.
struct Tile {
  std::uint8_t rows, columns;
  bool wide;     ///< fp32
  bool by_rows;  ///< in memory
};

// a: address, b: stride in elements, c: Tile, flags: space, lists[list ...]: registers.
template <Slot slot, Access direction>
void transfer(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, kAllLanes)) return;
  const auto tile = std::bit_cast<Tile>(in.c);
  const Shape shape{tile.rows, tile.columns, static_cast<std::uint8_t>(in.count), Shape::a, tile.wide, true};
  const std::uint32_t* registers = warp.block().kernel().lists.data() + in.list();
  const int lane = warp.first_lane();
  const std::uint64_t stride = warp.at<Word>(in.b)[lane], base = uniform_address(warp, in, slot);
  const std::uint32_t bytes = tile.wide ? 4 : 2;
  const std::uint32_t lines = tile.by_rows ? tile.rows : tile.columns,
                      length = tile.by_rows ? tile.columns : tile.rows;
  Matrix matrix;
  if constexpr (direction == Access::write) {
    warp.progress();
    gather(warp, shape, registers, matrix);
  }
  for (std::uint32_t line = 0; line < lines; ++line)
    for (std::uint32_t start = 0; start < length; start += kChunk / bytes) {
      std::byte* at = lane_address(warp, in, lane, static_cast<ptx::Space>(in.flags),
                                   base + (line * stride + start) * bytes, kChunk, direction);
      if (at == nullptr) return;
      for (std::uint32_t i = 0; i < kChunk / bytes; ++i, at += bytes) {
        Word& value = matrix[tile.by_rows ? line * length + start + i : (start + i) * lines + line];
        if constexpr (direction == Access::write) {
          std::memcpy(at, &value, bytes);
        } else {
          value = 0;
          std::memcpy(&value, at, bytes);
        }
      }
    }
  if constexpr (direction == Access::read) scatter(warp, shape, registers, matrix);
}

// {registers}, [address]{, stride}, or for a store the first two the other way round
template <Access direction>
void build_transfer(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers) {
  constexpr bool load = direction == Access::read;
  const Dimensions size = take_dimensions(modifiers, statement, true);
  static constexpr std::array<std::string_view, 4> kMatrices = {"a", "b", "c", "d"};
  const int which = modifiers.take_any(kMatrices);
  const bool by_rows = modifiers.take("row");
  if ((!by_rows && !modifiers.take("col")) || (load ? which > 2 : which != 3))
    throw Unsupported{statement.opcode};
  const ptx::Type type = modifiers.take_type();
  const bool wide = type == ptx::Type::f32, brain = type == ptx::Type::bf16;
  const bool accumulator = which >= 2;
  if (accumulator ? brain : wide) throw Unsupported{statement.opcode};
  if (!wide && !brain && type != ptx::Type::f16) throw Unsupported{statement.opcode};
  if (statement.operands.size() < 2 || statement.operands.size() > 3) throw Unsupported{statement.opcode};
  const ptx::Operand &fragment = statement.operands[load ? 0 : 1], &memory = statement.operands[load ? 1 : 0];
  const Place place = take_place(decoder, modifiers, memory);
  modifiers.finish();
  const Shape shape = accumulator ? shape_of(size, Shape::accumulator, wide, true)
                                  : operand_shape(size, which == 0 ? Shape::a : Shape::b, brain, true);
  expect(statement, fragment, shape.registers);
  const std::uint32_t stride = statement.operands.size() == 3
                                   ? decoder.source(statement.operands[2], Slot::word)
                                   : decoder.constant(by_rows ? shape.columns : shape.rows, Slot::word);
  std::vector<std::uint32_t> registers;
  for (const ptx::Operand& element : fragment.elements)
    registers.push_back(load ? decoder.destination(element, Slot::word)
                             : decoder.source(element, Slot::word));
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(place.address.slot == Slot::quad ? transfer<Slot::quad, direction>
                                                                          : transfer<Slot::word, direction>);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = stride;
  in.c = std::bit_cast<Word>(Tile{shape.rows, shape.columns, wide, by_rows});
  in.e = list;
  in.count = shape.registers;
  in.flags = static_cast<std::uint8_t>(place.space);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void build_wmma(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  if (modifiers.take("mma")) return build_multiply(decoder, statement, modifiers, true);
  if (modifiers.take("load")) return build_transfer<Access::read>(decoder, statement, modifiers);
  if (modifiers.take("store")) return build_transfer<Access::write>(decoder, statement, modifiers);
  throw Unsupported{statement.opcode};
}

void build_mma(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  build_multiply(decoder, statement, modifiers, false);
}

// a: addresses of rows: lane 8 * i + r has that of row r of matrix i; b: whether transposed,
// flags: space,
// lists[list ...]: a register a matrix. Thread 4 * r + p holds elements 2 * p and 2 * p + 1 of row r.
template <Slot slot, Access direction>
void move_matrices(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, kAllLanes)) return;
  const std::uint32_t* registers = warp.block().kernel().lists.data() + in.list();
  const bool transposed = (in.b & 1) != 0;
  if constexpr (direction == Access::write) warp.progress();
  std::array<std::byte*, kLanes> rows{};
  for (int lane = 0; lane < 8 * in.count; ++lane) {
    const std::uint64_t address =
        (slot == Slot::quad ? warp.at<std::uint64_t>(in.a)[lane] : warp.at<Word>(in.a)[lane]) + in.immediate;
    rows[lane] = lane_address(warp, in, lane, static_cast<ptx::Space>(in.flags), address, kChunk, direction);
    if (rows[lane] == nullptr) return;
  }
  const auto element = [&](int matrix, int lane, int low) {
    const int row = lane / 4, column = 2 * (lane % 4) + low;
    return rows[8 * matrix + (transposed ? column : row)] + 2 * (transposed ? row : column);
  };
  std::array<std::array<Word, kLanes>, 4> values{};
  for (int matrix = 0; matrix < in.count; ++matrix)
    for (int lane = 0; lane < kLanes; ++lane)
      for (int low = 0; low < 2; ++low) {
        std::byte* at = element(matrix, lane, low);
        if constexpr (direction == Access::write) {
          const auto half = static_cast<std::uint16_t>(warp.at<Word>(registers[matrix])[lane] >> 16 * low);
          std::memcpy(at, &half, sizeof half);
        } else {
          std::uint16_t half;
          std::memcpy(&half, at, sizeof half);
          values[matrix][lane] |= Word{half} << 16 * low;
        }
      }
  if constexpr (direction == Access::read)
    for (int matrix = 0; matrix < in.count; ++matrix)
      write<Word>(warp, registers[matrix], [&](int lane) { return values[matrix][lane]; });
}

template <Access direction>
void build_matrices(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  constexpr bool load = direction == Access::read;
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  static constexpr std::array<std::string_view, 3> kCounts = {"x1", "x2", "x4"};
  const int power = modifiers.take_any(kCounts);
  const bool transposed = modifiers.take("trans");
  if (power < 0 || !modifiers.take("m8n8") || modifiers.take_type() != ptx::Type::b16 ||
      statement.operands.size() != 2)
    throw Unsupported{statement.opcode};
  const ptx::Operand &fragment = statement.operands[load ? 0 : 1], &memory = statement.operands[load ? 1 : 0];
  const Place place = take_place(decoder, modifiers, memory);
  modifiers.finish();
  const auto elements =
      fragment.kind == ptx::Operand::Kind::vector ? fragment.elements : std::vector{fragment};
  if (elements.size() != 1u << power)
    throw Unsupported{statement.opcode + " with another number of registers"};
  std::vector<std::uint32_t> registers;
  for (const ptx::Operand& element : elements)
    registers.push_back(load ? decoder.destination(element, Slot::word)
                             : decoder.source(element, Slot::word));
  const std::uint32_t list = decoder.list(registers);
  Instruction& in =
      decoder.emit_control(place.address.slot == Slot::quad ? move_matrices<Slot::quad, direction>
                                                            : move_matrices<Slot::word, direction>);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = transposed;
  in.e = list;
  in.count = static_cast<std::uint16_t>(elements.size());
  in.flags = static_cast<std::uint8_t>(place.space);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

}  // namespace

void add_matrix(Table& table) {
  table.add_all({{"mma", nullptr, {}, build_mma},
                 {"wmma", nullptr, {}, build_wmma},
                 {"ldmatrix", nullptr, {}, build_matrices<Access::read>},
                 {"stmatrix", nullptr, {}, build_matrices<Access::write>}});
}

}  // namespace pkb::virtual_gpu
