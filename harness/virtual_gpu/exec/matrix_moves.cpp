// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/matrix.h"
#include "harness/virtual_gpu/exec/space.h"

// ldmatrix, stmatrix and movmatrix of 8 x 8 matrices of 16-bit elements (PTX ISA 9.7.14.5.15 to 17). A row is
// 16 bytes in memory and in the register file.
namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kRow = 16;                                 // bytes
using Elements = std::array<std::array<std::uint16_t, 8>, 8>;  // of a register

Elements transposed(const Elements& matrix) {
  Elements result;
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j) result[j][i] = matrix[i][j];
  return result;
}

// a: addresses of rows: lane 8 * i + r has that of row r of matrix i; b: whether transposed,
// flags: space, lists[list ...]: a register a matrix.
template <Slot slot, Access direction>
void move_matrices(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const std::uint32_t* registers = warp.block().kernel().lists.data() + in.list();
  if constexpr (direction == Access::write) warp.progress();
  std::array<std::byte*, kLanes> rows{};
  for (int lane = 0; lane < 8 * in.count; ++lane) {
    const std::uint64_t address =
        (slot == Slot::quad ? warp.at<std::uint64_t>(in.a)[lane] : warp.at<std::uint32_t>(in.a)[lane]) +
        in.immediate;
    rows[lane] = lane_address(warp, in, lane, static_cast<ptx::Space>(in.flags), address, kRow, direction);
    if (rows[lane] == nullptr) return;
    check_lane(warp, in, static_cast<ptx::Space>(in.flags), lane, address, kRow, tile_access(direction));
  }
  for (std::size_t matrix = 0; matrix < in.count; ++matrix) {
    auto* held = warp.at<std::byte>(registers[matrix]);
    Elements elements;
    if constexpr (direction == Access::write) {
      std::memcpy(&elements, held, sizeof elements);
      if (in.b != 0) elements = transposed(elements);
      for (std::size_t r = 0; r < 8; ++r) std::memcpy(rows[8 * matrix + r], &elements[r], kRow);
    } else {
      for (std::size_t r = 0; r < 8; ++r) std::memcpy(&elements[r], rows[8 * matrix + r], kRow);
      if (in.b != 0) elements = transposed(elements);
      std::memcpy(held, &elements, sizeof elements);
    }
  }
}

template <Access direction>
void build_matrices(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  constexpr bool load = direction == Access::read;
  Modifiers modifiers(statement.opcode);
  modifiers.take("sync");
  modifiers.take("aligned");
  static constexpr std::array<std::string_view, 3> kCounts = {"x1", "x2", "x4"};
  const int power = modifiers.take_any(kCounts);
  const bool is_transposed = modifiers.take("trans");
  if (power < 0 || !modifiers.take("m8n8") || modifiers.take_type() != ptx::Type::b16 ||
      statement.operands.size() != 2)
    throw Unsupported{statement.opcode};
  const ptx::Operand &fragment = statement.operands[load ? 0 : 1], &memory = statement.operands[load ? 1 : 0];
  const Place place = take_place(decoder, modifiers, memory);
  modifiers.finish();
  std::vector<std::uint32_t> registers;
  append_registers(decoder, statement, fragment, 1u << power, Slot::word, load, registers);
  const std::uint32_t list = decoder.list(registers);
  Instruction& in =
      decoder.emit_control(place.address.slot == Slot::quad ? move_matrices<Slot::quad, direction>
                                                            : move_matrices<Slot::word, direction>);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = is_transposed;
  in.e = list;
  in.count = static_cast<std::uint16_t>(registers.size());
  in.flags = static_cast<std::uint8_t>(place.space);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void transpose_register(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  Elements elements;
  std::memcpy(&elements, warp.at<std::byte>(in.a), sizeof elements);
  elements = transposed(elements);
  std::memcpy(warp.at<std::byte>(in.d), &elements, sizeof elements);
}

void build_transpose(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  if (statement.operands.size() != 2) throw Unsupported{statement.opcode};
  const std::uint32_t from = decoder.source(statement.operands[1], Slot::word);
  const std::uint32_t to = decoder.destination(statement.operands[0], Slot::word);
  Instruction& in = decoder.emit_control(entry.handler);
  in.d = to;
  in.a = from;
}

}  // namespace

void add_matrix_moves(Table& table) {
  table.add_all({{"ldmatrix", nullptr, {}, build_matrices<Access::read>},
                 {"stmatrix", nullptr, {}, build_matrices<Access::write>},
                 {"movmatrix.sync.aligned.m8n8.trans.b16", transpose_register, {}, build_transpose}});
}

}  // namespace pkb::virtual_gpu
