// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cstdint>
#include <cstring>
#include <vector>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/matrix.h"

// Products of matrices that a warp holds in its registers: for mma and wmma.
namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kMostTiles = 4;        // of C: 32 x 8, 16 x 16, 8 x 32
constexpr std::size_t kMostElements = 1024;  // of A or B: 16 x 64

struct Registers {
  const std::uint32_t *d, *a, *b, *c;

  Registers(Warp& warp, const Instruction& in, const Product& p)
      : d(warp.block().kernel().lists.data() + in.list()),
        a(d + registers_of(p.d, std::uint32_t{p.rows} * p.columns)),
        b(a + std::uint32_t{p.rows} * p.depth),
        c(b + std::uint32_t{p.columns} * p.depth) {}
};

Product product_in(const Instruction& in) { return std::bit_cast<Product>(in.immediate); }

void unpack_operands(Warp& warp, const Product& p, const Registers& registers, float* left, Eight* right) {
  const std::size_t size = block_size(p.a), width = block_columns(p.a);
  for (std::size_t i = 0; i < std::size_t{p.rows} * p.depth; ++i)
    unpack(p.a, warp.at<std::byte>(registers.a[i]), size, left + i * size);
  for (std::size_t i = 0; i < std::size_t{p.columns} * p.depth; ++i) {
    std::array<float, 8 * 32> block;
    unpack(p.b, warp.at<std::byte>(registers.b[i]), size, block.data());
    transpose(block.data(), width, right + i * width);
  }
}

/// Adds tile `i` of A * B to `tile`.
void multiply_tile(const Product& p, std::size_t i, const float* left, const Eight* right, Tile& tile) {
  const std::size_t size = block_size(p.a), width = block_columns(p.a), row = i % p.rows, column = i / p.rows;
  for (std::size_t k = 0; k < p.depth; ++k)
    multiply_add(tile, left + (k * p.rows + row) * size, width, right + (column * p.depth + k) * width, width);
}

// D may take the place of C in another order, so that all of C is read first.
void multiply_floats(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const Product p = product_in(in);
  const Registers registers(warp, in, p);
  std::array<float, kMostElements> left;
  std::array<Eight, kMostElements / 8> right;
  std::array<Tile, kMostTiles> tiles;
  unpack_operands(warp, p, registers, left.data(), right.data());
  const std::uint32_t count = std::uint32_t{p.rows} * p.columns;
  for (std::uint32_t i = 0; i < count; ++i) {
    load_tile(warp, p.c, registers.c + registers_of(p.c, i), tiles[i]);
    multiply_tile(p, i, left.data(), right.data(), tiles[i]);
  }
  for (std::uint32_t i = 0; i < count; ++i)
    store_tile(warp, p.d, registers.d + registers_of(p.d, i), tiles[i]);
}

// The products of a row and a column sum up to at most 64 * 255 * 255, which a float holds. mode: whether the
// result is clamped.
void multiply_integers(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const Product p = product_in(in);
  const Registers registers(warp, in, p);
  std::array<float, kMostElements> left;
  std::array<Eight, kMostElements / 8> right;
  std::array<IntegerTile, kMostTiles> tiles;
  unpack_operands(warp, p, registers, left.data(), right.data());
  const std::uint32_t count = std::uint32_t{p.rows} * p.columns;
  for (std::uint32_t i = 0; i < count; ++i) load_tile(warp, registers.c + 2 * i, tiles[i]);
  for (std::uint32_t i = 0; i < count; ++i) {
    Tile sums{};
    multiply_tile(p, i, left.data(), right.data(), sums);
    store_sums(warp, registers.d + 2 * i, tiles[i], sums, p.mode != 0);
  }
}

// Counts of the bits that differ (mode 0) or are both set (1).
void multiply_bits(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const Product p = product_in(in);
  const Registers registers(warp, in, p);
  std::array<IntegerTile, kMostTiles> tiles;
  std::array<Tile, kMostTiles> sums{};
  const std::size_t count = std::size_t{p.rows} * p.columns;
  for (std::size_t i = 0; i < count; ++i) {
    load_tile(warp, registers.c + 2 * i, tiles[i]);
    for (std::size_t k = 0; k < p.depth; ++k) {
      const auto* left = warp.at<std::uint32_t>(registers.a[k * p.rows + i % p.rows]);
      const auto* right = warp.at<std::uint32_t>(registers.b[i / p.rows * p.depth + k]);
      for (std::size_t row = 0; row < 8; ++row)
        for (std::size_t column = 0; column < 8; ++column)
          for (std::size_t t = 0; t < 4; ++t) {
            const std::uint32_t x = left[4 * row + t], y = right[4 * column + t];
            sums[i].rows[row][kPlaceOfColumn[column]] +=
                static_cast<float>(std::popcount(p.mode == 0 ? x ^ y : x & y));
          }
    }
  }
  for (std::size_t i = 0; i < count; ++i) store_sums(warp, registers.d + 2 * i, tiles[i], sums[i], false);
}

// Fused multiply-adds in ascending order of k, as PTX says, rounded as the host does at present. Not inlined,
// so that it stays between the changes of that.
[[gnu::noinline]] void multiply_doubles(Warp& warp, const Product& p, const Registers& registers,
                                        double* sums) {
  for (std::size_t i = 0; i < p.rows; ++i)  // there is one column of tiles
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      for (std::size_t odd = 0; odd < 2; ++odd) {
        const std::size_t row = lane / 4, column = 2 * (lane % 4) + odd;
        double sum = warp.at<double>(registers.c[2 * i + odd])[lane];
        for (std::size_t k = 0; k < p.depth; ++k)
          for (std::size_t t = 0; t < 4; ++t) {
            const double a = warp.at<double>(registers.a[k * p.rows + i])[4 * row + t],
                         b = warp.at<double>(registers.b[k])[4 * column + t];
            sum = pass_nan(__builtin_fma(a, b, sum), a, sum, b);
          }
        sums[(2 * i + odd) * kLanes + lane] = sum;
      }
}

void multiply_doubles(Warp& warp, const Instruction& in) {
  if (!whole_warp(warp, in)) return;
  const Product p = product_in(in);
  const Registers registers(warp, in, p);
  static constexpr std::array<int, 5> kModes = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD,
                                                FE_TONEAREST};
  std::array<double, 4 * kLanes> sums;
  std::fesetround(kModes[p.mode]);
  multiply_doubles(warp, p, registers, sums.data());
  std::fesetround(FE_TONEAREST);
  for (std::size_t i = 0; i < 2 * std::size_t{p.rows}; ++i)
    std::memcpy(warp.at<std::byte>(registers.d[i]), sums.data() + i * kLanes, sizeof(double) * kLanes);
}

Handler handler_of(const Product& product) {
  if (product.a == Element::f64) return multiply_doubles;
  if (product.a == Element::b1) return multiply_bits;
  return is_integer(product.a) ? multiply_integers : multiply_floats;
}

}  // namespace

void emit_product(Decoder& decoder, const ptx::Statement& statement, const Product& product,
                  std::uint32_t held) {
  const std::uint32_t tiles = std::uint32_t{product.rows} * product.columns;
  const std::uint32_t blocks_a = std::uint32_t{product.rows} * product.depth,
                      blocks_b = std::uint32_t{product.columns} * product.depth;
  if (statement.operands.size() != 4 || tiles > kMostTiles) throw Unsupported{statement.opcode};
  const Slot operand_slot = slot_of(product.a);
  std::vector<std::uint32_t> registers;
  const auto append = [&](std::size_t operand, std::uint32_t count, Slot slot) {
    append_registers(decoder, statement, statement.operands[operand], count, slot, operand == 0, registers);
  };
  const auto append_blocks = [&](std::size_t operand, std::uint32_t blocks) {
    const std::size_t before = registers.size();
    append(operand, std::max(blocks, held), operand_slot);
    registers.resize(before + blocks);
  };
  append(0, registers_of(product.d, tiles), slot_of(product.d));
  append_blocks(1, blocks_a);
  append_blocks(2, blocks_b);
  append(3, registers_of(product.c, tiles), slot_of(product.c));
  const std::uint32_t list = decoder.list(registers);
  Instruction& in = decoder.emit_control(handler_of(product));
  in.e = list;
  in.immediate = std::bit_cast<std::uint64_t>(product);
}

}  // namespace pkb::virtual_gpu
