// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/check/block_check.h"
#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/matrix.h"
#include "harness/virtual_gpu/exec/matrix_descriptor.h"

// wgmma (PTX ISA 9.7.15): a warpgroup multiplies A of 64 rows, in registers or shared memory, and B of 8 to
// 256 columns in shared memory. Warp w of four has rows 16 * w to 16 * w + 15, as in the fragments of mma.
namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kLineBytes = 32;       // of a row of A or a column of B: the depth of one instruction
constexpr std::size_t kMostDepth = 8 * kLineBytes;  // of b1

// Product::mode
constexpr std::uint8_t kSaturate = 1, kNegate = 2, kLeftInMemory = 4, kLeftAcross = 8, kRightAcross = 16;

std::uint32_t member_of(const Warp& warp) { return warp.index() % Warpgroup::kWarps; }

/// Eight lines, one after the other.
using Lines = std::array<std::byte, 8 * kLineBytes>;

/// Reads lines 8 * `index` and on. False after a fault.
bool read_lines(Warp& warp, const Instruction& in, const MatrixDescriptor& matrix, bool across,
                std::uint32_t index, Lines& lines) {
  constexpr std::uint32_t kPiece = 16;
  BlockState& block = warp.block();
  check::BlockCheck* const check = block.check();
  const auto piece = [&](std::uint32_t address) -> const std::byte* {
    if (address + kPiece <= block.shared_bytes()) {
      if (check != nullptr) check->check_proxy({.warp = warp.index(), .place = in.place}, *check, 0, address, kPiece);
      return block.shared() + address;
    }
    warp.fault(in, 0, Fault::Kind::illegal_address, address,
               fmt::format("a matrix descriptor leads to shared address {:#x}, but the block has {} bytes of "
                           "shared memory",
                           address, block.shared_bytes()));
    return nullptr;
  };
  for (std::uint32_t i = 0; i < kLineBytes / kPiece * 8; ++i) {
    const std::byte* at = piece(across ? matrix.across_k(index, i) : matrix.along_k(8 * index + i / 2, i % 2));
    if (at == nullptr) return false;
    if (across)
      for (std::size_t line = 0; line < 8; ++line)
        std::memcpy(lines.data() + line * kLineBytes + 2 * i, at + 2 * line, 2);
    else
      std::memcpy(lines.data() + i * kPiece, at, kPiece);
  }
  block.count_shared(sizeof lines, false);
  return true;
}

/// Sixteen rows of A that a warp holds in four registers.
void read_registers(Warp& warp, const Product& p, const std::uint32_t* registers, float* left) {
  const std::size_t width = block_columns(p.a), depth = 2 * width;
  std::array<float, 8 * 16> block;
  for (std::size_t i = 0; i < 4; ++i) {
    unpack(p.a, warp.at<std::byte>(registers[i]), 8 * width, block.data());
    for (std::size_t g = 0; g < 8; ++g)
      std::memcpy(left + (i % 2 * 8 + g) * depth + i / 2 * width, block.data() + g * width,
                  sizeof(float) * width);
  }
}

/// The whole operation, once all four warps are at `in`: B is read once for all. Registers hold the result at once,
/// not only after the wait: PTX as nvcc writes it moves accumulators from register to register before that, which
/// ptxas undoes.
void multiply_all(std::span<Warp* const> warps, const Instruction& in) {
  Warp& first = *warps.front();
  const auto p = std::bit_cast<Product>(in.immediate);
  const auto is = [&](std::uint8_t bit) { return (p.mode & bit) != 0; };
  const std::size_t depth = 8 * kLineBytes / bits_of(p.a);
  const std::uint32_t* const d = first.block().kernel().lists.data() + in.list();
  const std::uint32_t* const a = d + registers_of(p.d, 2u * p.columns);
  std::array<float, 64 * kMostDepth> left;
  std::array<Eight, kMostDepth> right;
  std::array<float, 8 * kMostDepth> columns;
  Lines lines;
  const auto matrix_a = MatrixDescriptor::decode(first.at<std::uint64_t>(in.a)[0]),
             matrix_b = MatrixDescriptor::decode(first.at<std::uint64_t>(in.b)[0]);
  if (is(kLeftInMemory)) {
    for (std::uint32_t i = 0; i < 8; ++i) {
      if (!read_lines(first, in, matrix_a, is(kLeftAcross), i, lines)) return;
      unpack(p.a, lines.data(), 8 * depth, left.data() + 8 * depth * i);
    }
  } else {
    for (std::size_t w = 0; w < warps.size(); ++w)
      read_registers(*warps[w], p, a, left.data() + 16 * depth * w);
  }
  if (is(kNegate))
    for (std::size_t i = 0; i < 64 * depth; ++i) left[i] = -left[i];
  for (std::uint32_t column = 0; column < p.columns; ++column) {
    if (!read_lines(first, in, matrix_b, is(kRightAcross), column, lines)) return;
    unpack(p.b, lines.data(), 8 * depth, columns.data());
    transpose(columns.data(), depth, right.data());
    for (std::size_t row = 0; row < 8; ++row) {
      Warp& warp = *warps[row / 2];
      const std::uint32_t* registers =
          d + registers_of(p.d, 2 * column + static_cast<std::uint32_t>(row % 2));
      const bool from_zero = (warp.predicate(in.c) & 1) == 0;
      Tile tile{};
      if (p.d != Sum::s32 && !from_zero) load_tile(warp, p.d, registers, tile);
      multiply_add(tile, left.data() + 8 * depth * row, depth, right.data(), depth);
      if (p.d != Sum::s32) {
        store_tile(warp, p.d, registers, tile);
      } else {
        IntegerTile sums{};
        if (!from_zero) load_tile(warp, registers, sums);
        store_sums(warp, registers, sums, tile, is(kSaturate));
      }
    }
  }
}

// a, b: descriptors; c: predicate, whether D is added; immediate: Product;
// lists[list ...]: registers of D, then of A.
void multiply(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  BlockState& block = warp.block();
  Warpgroup& group = block.warpgroup(warp);
  const std::uint32_t first = warp.index() - member_of(warp);
  const auto refuse = [&](std::string_view why) {
    warp.fault(in, 0, Fault::Kind::invalid_instruction, 0,
               fmt::format("{}: {}", block.kernel().places[in.place].opcode, why));
  };
  if (first + Warpgroup::kWarps > block.warps().size()) return refuse("the block has no four warps for it");
  warp.progress();
  switch (group.arrive(member_of(warp), &in)) {
    case Warpgroup::Arrival::elsewhere:
      return refuse("another warp of the warpgroup executes another such instruction");
    case Warpgroup::Arrival::waits:
      return warp.park(in, Fragment::State::warpgroup, 0);
    case Warpgroup::Arrival::last:
      break;
  }
  std::array<Warp*, Warpgroup::kWarps> warps;
  const auto descriptor = [](Warp* of, std::uint32_t at) { return of->at<std::uint64_t>(at)[0]; };
  for (std::uint32_t i = 0; i < warps.size(); ++i) {
    warps[i] = &block.warps()[first + i];
    if (warps[i] != &warp) warps[i]->join();
    if (descriptor(warps[i], in.b) != descriptor(warps[0], in.b) ||
        ((std::bit_cast<Product>(in.immediate).mode & kLeftInMemory) != 0 &&
         descriptor(warps[i], in.a) != descriptor(warps[0], in.a)))
      return refuse("the warps of a warpgroup give different matrix descriptors");
  }
  group.begin({.instruction = &in, .a = descriptor(&warp, in.a), .b = descriptor(&warp, in.b)});
  multiply_all(warps, in);
}

void build_multiply(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers) {
  const bool saturate = modifiers.take("satfinite"), counts = modifiers.take("popc");
  if (counts && !modifiers.take("and")) throw Unsupported{statement.opcode};
  const auto size = matrix_size(modifiers.take_first());
  const auto d = sum_from(modifiers.take_first());
  const auto a = element_from(modifiers.take_first()), b = element_from(modifiers.take_first());
  modifiers.finish();
  const auto& operands = statement.operands;
  if (!size || !d || !a || !b || operands.size() < 4) throw Unsupported{statement.opcode};
  Product product = product_of(*size, *a, *b, *d, *d, statement);
  const bool in_memory = operands[1].kind != ptx::Operand::Kind::vector;
  const bool sixteen = bits_of(*a) == 16, integers = is_integer(*a);
  const std::size_t wanted = 4 + (integers ? 0 : 2) + (sixteen ? (in_memory ? 2 : 1) : 0);
  if (size->m != 64 || size->k * bits_of(*a) != 8 * kLineBytes || bits_of(*a) == 4 || a == Element::f64 ||
      counts != (a == Element::b1) || (saturate && (!integers || counts)) || operands.size() != wanted)
    throw Unsupported{statement.opcode};
  const auto immediate = [&](std::size_t at) {
    if (operands[at].kind != ptx::Operand::Kind::integer) throw Unsupported{statement.opcode};
    return static_cast<std::int32_t>(operands[at].bits);
  };
  if (saturate) product.mode |= kSaturate;
  if (!integers && immediate(4) * immediate(5) < 0) product.mode |= kNegate;
  if (in_memory) product.mode |= kLeftInMemory;
  if (sixteen && in_memory && immediate(6) != 0) product.mode |= kLeftAcross;
  if (sixteen && immediate(wanted - 1) != 0) product.mode |= kRightAcross;

  std::vector<std::uint32_t> registers;
  append_registers(decoder, statement, operands[0], registers_of(*d, 2u * product.columns), Slot::word, true,
                   registers);
  const std::uint32_t right = decoder.source(operands[2], Slot::quad);
  std::uint32_t left = right;
  if (in_memory)
    left = decoder.source(operands[1], Slot::quad);
  else
    append_registers(decoder, statement, operands[1], 4, Slot::word, false, registers);
  const std::uint32_t adds = decoder.source(operands[3], Slot::predicate);
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(multiply);
  in.a = left;
  in.b = right;
  in.c = adds;
  in.e = list;
  in.immediate = std::bit_cast<std::uint64_t>(product);
}

// Registers and shared memory are in order here as it is.
void fence(Warp& warp, const Instruction& in) { whole_warp(warp, in); }

void commit(Warp& warp, const Instruction& in) {
  if (whole_warp(warp, in)) warp.block().warpgroup(warp).commit(member_of(warp));
}

// immediate: groups that may stay pending.
void wait(Warp& warp, const Instruction& in) {
  if (whole_warp(warp, in))
    warp.block().warpgroup(warp).wait(member_of(warp), static_cast<std::uint32_t>(in.immediate));
}

void build_wgmma(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  if (modifiers.take("mma_async")) return build_multiply(decoder, statement, modifiers);
  static constexpr std::array<std::string_view, 3> kNames = {"fence", "commit_group", "wait_group"};
  static constexpr std::array<Handler, 3> kHandlers = {fence, commit, wait};
  const int which = modifiers.take_any(kNames);
  modifiers.finish();
  if (which < 0 || statement.operands.size() != (which == 2 ? 1u : 0u)) throw Unsupported{statement.opcode};
  Instruction& in = decoder.emit_control(kHandlers[static_cast<std::size_t>(which)]);
  if (which == 2) in.immediate = statement.operands[0].bits;
}

}  // namespace

void add_wgmma(Table& table) { table.add({"wgmma", nullptr, {}, build_wgmma}); }

}  // namespace pkb::virtual_gpu
