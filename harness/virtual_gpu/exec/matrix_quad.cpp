// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/matrix.h"
#include "harness/virtual_gpu/exec/rounding.h"

// mma.m8n8k4 of f16 (PTX ISA 9.7.14.5.1): four products at once. Those of product q are held by threads
// 4 * q to 4 * q + 3 and the four that stand 16 above.
namespace pkb::virtual_gpu {
namespace {

constexpr std::uint8_t kLeftByRows = 1, kRightByRows = 2, kWideC = 4, kWideD = 8;  // Instruction::flags

struct Position {
  std::size_t row, column;
};
/// Where element `i` of eight of a thread's C or D belongs.
Position position(bool wide, std::size_t lane, std::size_t i) {
  const std::size_t upper = lane < 16 ? 0 : 4;
  if (wide) return {(lane & 1) + (i & 2) + upper, (i & 4) + (lane & 2) + (i & 1)};
  return {lane % 4 + upper, i};
}

// lists[list ...]: registers of D, A, B and C.
void multiply(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const bool wide_c = (in.flags & kWideC) != 0, wide_d = (in.flags & kWideD) != 0;
  const std::uint32_t* d = warp.block().kernel().lists.data() + in.list();
  const std::uint32_t *a = d + (wide_d ? 8 : 4), *b = a + 2, *c = b + 2;
  const auto half = [&](const std::uint32_t* registers, std::size_t i, std::size_t lane) {
    return to_float(Half{static_cast<std::uint16_t>(warp.at<std::uint32_t>(registers[i / 2])[lane] >> 16 * (i % 2))});
  };
  // A row of A, or a column of B, belongs to one thread, or its four elements to the four threads in turn.
  const auto operand = [&](const std::uint32_t* registers, bool whole, std::size_t line, std::size_t k,
                           std::size_t quad) {
    const std::size_t first = 4 * quad + (line < 4 ? 0 : 16), within = line % 4;
    return whole ? half(registers, k, first + within) : half(registers, within, first + k);
  };
  std::array<std::array<std::array<float, 8>, 8>, 4> sums;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t i = 0; i < 8; ++i) {
      const auto [row, column] = position(wide_c, lane, i);
      sums[lane % 16 / 4][row][column] = wide_c ? warp.at<float>(c[i])[lane] : half(c, i, lane);
    }
  for (std::size_t quad = 0; quad < 4; ++quad)
    for (std::size_t row = 0; row < 8; ++row)
      for (std::size_t column = 0; column < 8; ++column)
        for (std::size_t k = 0; k < 4; ++k)
          sums[quad][row][column] += operand(a, (in.flags & kLeftByRows) != 0, row, k, quad) *
                                     operand(b, (in.flags & kRightByRows) == 0, column, k, quad);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    for (std::size_t i = 0; i < 8; ++i) {
      const auto [row, column] = position(wide_d, lane, i);
      const float sum = sums[lane % 16 / 4][row][column];
      if (wide_d) {
        warp.at<float>(d[i])[lane] = canonical(sum);
      } else {
        std::uint32_t& word = warp.at<std::uint32_t>(d[i / 2])[lane];
        const std::uint32_t bits = to_half(sum).bits;
        word = i % 2 == 0 ? bits : word | bits << 16;
      }
    }
}

}  // namespace

void build_quad_mma(Decoder& decoder, const ptx::Statement& statement, const QuadProduct& product) {
  std::vector<std::uint32_t> registers;
  const auto append = [&](std::size_t operand, std::size_t count) {
    append_registers(decoder, statement, statement.operands[operand], count, Slot::word, operand == 0, registers);
  };
  append(0, product.d == Sum::f32 ? 8 : 4);
  append(1, 2), append(2, 2);
  append(3, product.c == Sum::f32 ? 8 : 4);
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(multiply);
  in.e = list;
  in.flags = static_cast<std::uint8_t>(
      (product.left_by_rows ? kLeftByRows : 0) | (product.right_by_rows ? kRightByRows : 0) |
      (product.c == Sum::f32 ? kWideC : 0) | (product.d == Sum::f32 ? kWideD : 0));
}

}  // namespace pkb::virtual_gpu
