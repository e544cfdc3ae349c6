// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/matrix.h"
#include "harness/virtual_gpu/exec/space.h"

// wmma (PTX ISA 9.7.14.4). PTX leaves open which thread holds what; here it is as in the fragments of mma.
namespace pkb::virtual_gpu {
namespace {

constexpr std::uint32_t kChunk = 16;         // bytes moved at once: lines in memory start on multiples of it
constexpr std::uint32_t kHalfRegisters = 8;  // of an f16 operand, whatever its size: blocks repeat

/// A matrix between memory and registers, in Instruction::c. An entry is an element, or the byte that smaller
/// ones share. Entry (i, k) is that of row i of A or C, of column i of B.
struct Transfer {
  std::uint8_t rows = 0, depth = 0;  ///< in blocks or tiles
  std::uint8_t bytes = 0;            ///< of an entry
  std::uint8_t layout = 0;           ///< of the following
  static constexpr std::uint8_t kAlong = 1,  ///< in memory the entries of one i stand together
      kRowByRow = 2,                         ///< blocks of one i follow each other in the registers
      kTiles = 4;                            ///< two registers hold 8 columns in turn

  bool is(std::uint8_t bit) const { return (layout & bit) != 0; }
  std::uint32_t width() const { return is(kTiles) ? 8 : std::max(4u, 16u / bytes); }

  std::byte* place(Warp& warp, const std::uint32_t* registers, std::uint32_t i, std::uint32_t k) const {
    const std::uint32_t row = i / 8, column = k / width();
    const std::uint32_t block = is(kRowByRow) ? row * depth + column : column * rows + row;
    const std::uint32_t within = is(kTiles) ? 4 * (i % 8) + k % 8 / 2 : i % 8 * width() + k % width();
    return warp.at<std::byte>(registers[is(kTiles) ? 2 * block + k % 2 : block]) + within * bytes;
  }
};

// a: address, b: stride in elements, c: Transfer, d: bits of an element, flags: space, lists[list ...]:
// registers.
template <Slot slot, Access direction>
void transfer(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const auto t = std::bit_cast<Transfer>(in.c);
  const std::uint32_t* registers = warp.block().kernel().lists.data() + in.list();
  const int lane = warp.first_lane();  // all lanes give the same address and stride
  const std::uint64_t stride = std::uint64_t{warp.at<std::uint32_t>(in.b)[lane]} * in.d / 8;
  const std::uint64_t base =
      (slot == Slot::quad ? warp.at<std::uint64_t>(in.a)[lane] : warp.at<std::uint32_t>(in.a)[lane]) +
      in.immediate;
  const std::uint32_t rows = 8u * t.rows, depth = t.width() * t.depth;
  const bool along = t.is(Transfer::kAlong);
  const std::uint32_t lines = along ? rows : depth, length = along ? depth : rows;
  const std::uint32_t chunk = std::min(kChunk, length * t.bytes), entries = chunk / t.bytes;
  const bool together = along && !t.is(Transfer::kTiles);  // in the registers too
  if constexpr (direction == Access::write) warp.progress();
  const auto move = [](std::byte* held, std::byte* stored, std::size_t bytes) {
    if constexpr (direction == Access::write)
      std::memcpy(stored, held, bytes);
    else
      std::memcpy(held, stored, bytes);
  };
  for (std::uint32_t line = 0; line < lines; ++line)
    for (std::uint32_t start = 0; start < length; start += entries) {
      std::byte* at = lane_address(warp, in, lane, static_cast<ptx::Space>(in.flags),
                                   base + line * stride + std::uint64_t{start} * t.bytes, chunk, direction);
      if (at == nullptr) return;
      check_lane(warp, in, static_cast<ptx::Space>(in.flags), lane,
                 base + line * stride + std::uint64_t{start} * t.bytes, chunk, tile_access(direction));
      if (together) {
        move(t.place(warp, registers, line, start), at, chunk);
        continue;
      }
      for (std::uint32_t i = start; i < start + entries; ++i, at += t.bytes)
        move(along ? t.place(warp, registers, line, i) : t.place(warp, registers, i, line), at, t.bytes);
    }
  if constexpr (direction == Access::read) {
    const std::uint32_t blocks = std::uint32_t{t.rows} * t.depth * (t.is(Transfer::kTiles) ? 2 : 1);
    for (std::uint32_t i = blocks; i < in.count; ++i)
      std::memcpy(warp.at<std::byte>(registers[i]), warp.at<std::byte>(registers[i % blocks]),
                  sizeof(std::uint32_t) * kLanes);
  }
}

/// The sizes that wmma has for a type.
bool has_size(Element element, const MatrixSize& size) {
  const auto is = [&](std::uint32_t m, std::uint32_t n, std::uint32_t k) {
    return size.m == m && size.n == n && size.k == k;
  };
  switch (element) {
    case Element::f16:
    case Element::bf16:
    case Element::s8:
    case Element::u8:
      return is(16, 16, 16) || is(32, 8, 16) || is(8, 32, 16);
    case Element::tf32:
      return is(16, 16, 8);
    case Element::s4:
    case Element::u4:
      return is(8, 8, 32);
    case Element::b1:
      return is(8, 8, 128);
    case Element::f64:
      return is(8, 8, 4);
    case Element::e4m3:
    case Element::e5m2:
      return false;
  }
  return false;
}

void build_multiply(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers) {
  static constexpr std::array<std::string_view, 4> kRoundings = {"rn", "rz", "rm", "rp"};
  const bool saturate = modifiers.take("satfinite"), both = modifiers.take("and");
  if (modifiers.take("popc") && !both && !modifiers.take("xor")) throw Unsupported{statement.opcode};
  const int rounding = modifiers.take_any(kRoundings);
  // The layouts of the operands were undone when these were loaded.
  modifiers.take_first(), modifiers.take_first();
  const auto size = matrix_size(modifiers.take_first());
  const auto d = sum_from(modifiers.take_first());
  std::array<std::string_view, 3> types = {"f16", "f16", modifiers.take_first()};  // only f16 goes unsaid
  if (const std::string_view second = modifiers.take_first(); !second.empty())
    types = {types[2], second, modifiers.take_first()};
  const auto a = element_from(types[0]), b = element_from(types[1]);
  const auto c = sum_from(types[2]);
  modifiers.finish();
  if (!size || !a || !b || !c || !d || !has_size(*a, *size)) throw Unsupported{statement.opcode};
  Product product = product_of(*size, *a, *b, *c, *d, statement);
  if ((saturate && !is_integer(*a)) || (rounding >= 0 && a != Element::f64) || (both && a != Element::b1))
    throw Unsupported{statement.opcode};
  product.mode = static_cast<std::uint8_t>(rounding > 0 ? rounding : saturate || both ? 1 : 0);
  emit_product(decoder, statement, product, a == Element::f16 ? kHalfRegisters : 0);
}

/// An operand of the product, or an accumulator.
struct Held {
  Transfer transfer;
  std::uint32_t bits = 0, registers = 0, default_stride = 0;
  Slot slot = Slot::word;
};

Held held_operand(const MatrixSize& size, Element element, bool is_a, bool by_rows,
                  const ptx::Statement& statement) {
  if (!has_size(element, size)) throw Unsupported{statement.opcode};
  Held held;
  held.bits = bits_of(element);
  held.slot = slot_of(element);
  const std::uint32_t lines = is_a ? size.m : size.n;
  const bool along = by_rows == is_a;
  if (held.bits < 8 && !along) throw Unsupported{statement.opcode};
  held.transfer = {.rows = static_cast<std::uint8_t>(lines / 8),
                   .depth = static_cast<std::uint8_t>(size.k / block_columns(element)),
                   .bytes = static_cast<std::uint8_t>(std::max(1u, held.bits / 8)),
                   .layout = static_cast<std::uint8_t>((along ? Transfer::kAlong : 0) |
                                                       (is_a ? 0 : Transfer::kRowByRow))};
  const std::uint32_t blocks = std::uint32_t{held.transfer.rows} * held.transfer.depth;
  held.registers = element == Element::f16 ? kHalfRegisters : blocks;
  held.default_stride = along ? size.k : lines;
  return held;
}

Held held_accumulator(const MatrixSize& size, Sum sum, bool by_rows) {
  Held held;
  held.bits = sum == Sum::f16 ? 16 : sum == Sum::f64 ? 64 : 32;
  held.slot = slot_of(sum);
  held.transfer = {.rows = static_cast<std::uint8_t>(size.m / 8),
                   .depth = static_cast<std::uint8_t>(size.n / 8),
                   .bytes = static_cast<std::uint8_t>(held.bits / 8),
                   .layout = static_cast<std::uint8_t>((by_rows ? Transfer::kAlong : 0) |
                                                       (sum == Sum::f16 ? 0 : Transfer::kTiles))};
  held.registers = registers_of(sum, size.m / 8 * (size.n / 8));
  held.default_stride = by_rows ? size.n : size.m;
  return held;
}

// {registers}, [address]{, stride}, or for a store the first two the other way round
template <Access direction>
void build_transfer(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers) {
  constexpr bool load = direction == Access::read;
  if (statement.operands.size() < 2 || statement.operands.size() > 3) throw Unsupported{statement.opcode};
  const ptx::Operand &fragment = statement.operands[load ? 0 : 1], &memory = statement.operands[load ? 1 : 0];
  const Place place = take_place(decoder, modifiers, memory);
  const std::string_view which = modifiers.take_first(), order = modifiers.take_first();
  const auto size = matrix_size(modifiers.take_first());
  const std::string_view type = modifiers.take_first();
  modifiers.finish();
  const bool operand = which == "a" || which == "b", by_rows = order == "row";
  if (!size || (!by_rows && order != "col") || (load ? !operand && which != "c" : which != "d"))
    throw Unsupported{statement.opcode};
  Held held;
  if (const auto element = element_from(type); operand && element)
    held = held_operand(*size, *element, which == "a", by_rows, statement);
  else if (const auto sum = sum_from(type); !operand && sum)
    held = held_accumulator(*size, *sum, by_rows);
  else
    throw Unsupported{statement.opcode};
  const std::uint32_t stride = statement.operands.size() == 3
                                   ? decoder.source(statement.operands[2], Slot::word)
                                   : decoder.constant(held.default_stride, Slot::word);
  std::vector<std::uint32_t> registers;
  append_registers(decoder, statement, fragment, held.registers, held.slot, load, registers);
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(place.address.slot == Slot::quad ? transfer<Slot::quad, direction>
                                                                          : transfer<Slot::word, direction>);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = stride;
  in.c = std::bit_cast<std::uint32_t>(held.transfer);
  in.d = held.bits;
  in.e = list;
  in.count = static_cast<std::uint16_t>(held.registers);
  in.flags = static_cast<std::uint8_t>(place.space);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void build_wmma(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  if (modifiers.take("mma")) return build_multiply(decoder, statement, modifiers);
  if (modifiers.take("load")) return build_transfer<Access::read>(decoder, statement, modifiers);
  if (modifiers.take("store")) return build_transfer<Access::write>(decoder, statement, modifiers);
  throw Unsupported{statement.opcode};
}

}  // namespace

void add_wmma(Table& table) { table.add({"wmma", nullptr, {}, build_wmma}); }

}  // namespace pkb::virtual_gpu
