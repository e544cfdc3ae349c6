// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/matrix_element.h"
#include "harness/virtual_gpu/exec/matrix_product.h"
#include "harness/virtual_gpu/exec/warp.h"

/// What the matrix instructions of a warp share (PTX ISA 9.7.14).
///
/// A register that 32 threads hold is a block of a matrix, whose bytes lie in the register file as they would
/// in memory: thread 4 * g + t has bytes 4 * t to 4 * t + 3 of row g of eight. A is made of such blocks, B of
/// blocks of its transpose, accumulators of 16 bits too. Of wider accumulators two registers make a tile of
/// 8 x 8, the first with the even columns, the second with the odd ones.
namespace pkb::virtual_gpu {

void add_mma(Table&);
void add_wmma(Table&);
void add_wgmma(Table&);
void add_matrix_moves(Table&);

/// The type of an accumulator.
enum class Sum : std::uint8_t { f16, f32, s32, f64 };

/// D = A * B + C as handlers are told in Instruction::immediate, sizes in blocks. The list of registers holds
/// those of D, A, B and C. Blocks of A follow each other down a column of blocks, blocks of B along the depth,
/// and tiles of C and D down a column of tiles.
struct Product {
  std::uint8_t rows = 0, columns = 0, depth = 0;
  Element a{}, b{};
  Sum c{}, d{};
  std::uint8_t mode = 0;  ///< what the handler says
};
static_assert(sizeof(Product) == sizeof(std::uint64_t));

/// Elements in a row of a block, and in a block.
inline std::uint32_t block_columns(Element element) {
  const unsigned bits = bits_of(element);
  return bits >= 32 ? 4 : 128 / bits;
}
inline std::uint32_t block_size(Element element) { return 8 * block_columns(element); }
inline std::uint32_t registers_of(Sum sum, std::uint32_t tiles) { return sum == Sum::f16 ? tiles : 2 * tiles; }
inline Slot slot_of(Sum sum) { return sum == Sum::f64 ? Slot::quad : Slot::word; }
inline Slot slot_of(Element element) { return element == Element::f64 ? Slot::quad : Slot::word; }

/// "m16n8k16".
struct MatrixSize {
  std::uint32_t m = 0, n = 0, k = 0;
};
std::optional<MatrixSize> matrix_size(std::string_view name);
std::optional<Sum> sum_from(std::string_view name);

/// The product of matrices of that size. Throws Unsupported where PTX has none of these types.
Product product_of(const MatrixSize& size, Element a, Element b, Sum c, Sum d, const ptx::Statement& statement);
/// Emits a product of matrices in registers, which operands D, A, B and C name. `held` registers of A and of B
/// are named at least; those beyond the blocks are not read.
void emit_product(Decoder& decoder, const ptx::Statement& statement, const Product& product,
                  std::uint32_t held = 0);

/// The four small products of mma.m8n8k4.
struct QuadProduct {
  bool left_by_rows, right_by_rows;
  Sum c, d;  ///< f16 or f32
};
void build_quad_mma(Decoder& decoder, const ptx::Statement& statement, const QuadProduct& product);

/// True when all 32 threads execute `in`. Otherwise the handler has to return at once.
bool whole_warp(Warp& warp, const Instruction& in);

/// The offsets of the registers of a vector operand. Throws Unsupported if it has not `count` of them.
void append_registers(Decoder& decoder, const ptx::Statement& statement, const ptx::Operand& operand,
                      std::size_t count, Slot slot, bool written, std::vector<std::uint32_t>& to);

/// The tile in the registers at `from`: of f16 or f32.
void load_tile(Warp& warp, Sum type, const std::uint32_t* from, Tile& tile);
/// The tile in the registers at `to`, rounded to their type. NaN becomes the one that arithmetic gives.
void store_tile(Warp& warp, Sum type, const std::uint32_t* to, const Tile& tile);

/// A tile of s32: what its first register holds, then its second.
using IntegerTile = std::array<std::int32_t, 2 * kLanes>;
void load_tile(Warp& warp, const std::uint32_t* from, IntegerTile& tile);
/// `tile` plus `sums`, which are integers, modulo 2^32 or clamped.
void store_sums(Warp& warp, const std::uint32_t* to, const IntegerTile& tile, const Tile& sums, bool saturate);

}  // namespace pkb::virtual_gpu
