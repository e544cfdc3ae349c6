// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/matrix.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/rounding.h"

namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;

constexpr Word kNan32 = 0x7fffffff;  // what mma gives for NaN

}  // namespace

std::optional<MatrixSize> matrix_size(std::string_view name) {
  MatrixSize size;
  const char *at = name.data(), *const end = at + name.size();
  for (const auto& [letter, value] : {std::pair('m', &size.m), {'n', &size.n}, {'k', &size.k}}) {
    if (at == end || *at != letter) return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, *value);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(size) : std::nullopt;
}

std::optional<Sum> sum_from(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"f16", "f32", "s32", "f64"};
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  return found == kNames.end() ? std::nullopt : std::optional(static_cast<Sum>(found - kNames.begin()));
}

Product product_of(const MatrixSize& size, Element a, Element b, Sum c, Sum d,
                   const ptx::Statement& statement) {
  const bool narrow = c == Sum::f16 || d == Sum::f16;  // accumulators of 16 bits
  const bool types_fit = is_integer(a) ? c == Sum::s32 && d == Sum::s32
                         : a == Element::f64
                             ? c == Sum::f64 && d == Sum::f64
                             : (c == Sum::f16 || c == Sum::f32) && (d == Sum::f16 || d == Sum::f32) &&
                                   !(narrow && (a == Element::bf16 || a == Element::tf32));
  const std::uint32_t columns = block_columns(a);
  if (!types_fit || bits_of(a) != bits_of(b) || is_integer(a) != is_integer(b) || size.m % 8 != 0 ||
      size.n % 8 != 0 || size.k % columns != 0 || size.m > 64 || size.n > 256 || size.k / columns > 4)
    throw Unsupported{statement.opcode};
  return {.rows = static_cast<std::uint8_t>(size.m / 8),
          .columns = static_cast<std::uint8_t>(size.n / 8),
          .depth = static_cast<std::uint8_t>(size.k / columns),
          .a = a,
          .b = b,
          .c = c,
          .d = d};
}

bool whole_warp(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, kAllLanes)) return false;
  if (warp.mask() == kAllLanes) return true;
  warp.fault(in, warp.first_lane(), Fault::Kind::invalid_instruction, 0,
             fmt::format("{} needs all 32 threads of a warp, and this warp has only {}",
                         warp.block().kernel().places[in.place].opcode, std::popcount(warp.live())));
  return false;
}

void append_registers(Decoder& decoder, const ptx::Statement& statement, const ptx::Operand& operand,
                      std::size_t count, Slot slot, bool written, std::vector<std::uint32_t>& to) {
  const auto elements =
      operand.kind == ptx::Operand::Kind::vector ? operand.elements : std::vector{operand};
  if (elements.size() != count) throw Unsupported{statement.opcode + " with another number of registers"};
  for (const ptx::Operand& element : elements)
    to.push_back(written ? decoder.destination(element, slot) : decoder.source(element, slot));
}

void load_tile(Warp& warp, Sum type, const std::uint32_t* from, Tile& tile) {
  if (type == Sum::f32) {
    const float *even = warp.at<float>(from[0]), *odd = warp.at<float>(from[1]);
    for (std::size_t g = 0; g < 8; ++g) {
      std::memcpy(&tile.rows[g], even + 4 * g, 16);
      std::memcpy(reinterpret_cast<std::byte*>(&tile.rows[g]) + 16, odd + 4 * g, 16);
    }
  } else {
    alignas(32) std::array<float, 64> natural;
    unpack(Element::f16, warp.at<std::byte>(from[0]), natural.size(), natural.data());
    for (std::size_t g = 0; g < 8; ++g)
      for (std::size_t j = 0; j < 8; ++j) tile.rows[g][kPlaceOfColumn[j]] = natural[8 * g + j];
  }
}

void store_tile(Warp& warp, Sum type, const std::uint32_t* to, const Tile& tile) {
  if (type == Sum::f16) {
    std::array<std::uint16_t, 64> natural;
    for (std::size_t g = 0; g < 8; ++g)
      for (std::size_t j = 0; j < 8; ++j)
        natural[8 * g + j] = to_half(tile.rows[g][kPlaceOfColumn[j]]).bits;
    std::memcpy(warp.at<std::byte>(to[0]), natural.data(), sizeof natural);
    return;
  }
  float *even = warp.at<float>(to[0]), *odd = warp.at<float>(to[1]);
  const Eight nan = Eight{} + std::bit_cast<float>(kNan32);
  for (std::size_t g = 0; g < 8; ++g) {
    const Eight sums = tile.rows[g];
    const Eight row = sums == sums ? sums : nan;
    std::memcpy(even + 4 * g, &row, 16);
    std::memcpy(odd + 4 * g, reinterpret_cast<const std::byte*>(&row) + 16, 16);
  }
}

void load_tile(Warp& warp, const std::uint32_t* from, IntegerTile& tile) {
  std::memcpy(tile.data(), warp.at<std::byte>(from[0]), sizeof tile / 2);
  std::memcpy(tile.data() + kLanes, warp.at<std::byte>(from[1]), sizeof tile / 2);
}

void store_sums(Warp& warp, const std::uint32_t* to, const IntegerTile& tile, const Tile& sums,
                bool saturate) {
  using Limits = std::numeric_limits<std::int32_t>;
  for (std::size_t odd = 0; odd < 2; ++odd) {
    auto* out = warp.at<std::int32_t>(to[odd]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const auto product = static_cast<std::int32_t>(sums.rows[lane / 4][4 * odd + lane % 4]);
      const std::int64_t sum = std::int64_t{tile[kLanes * odd + lane]} + product;
      out[lane] = static_cast<std::int32_t>(
          saturate ? std::clamp<std::int64_t>(sum, Limits::min(), Limits::max()) : sum);
    }
  }
}

void add_matrix(Table& table) {
  add_mma(table);
  add_wmma(table);
  add_wgmma(table);
  add_matrix_moves(table);
}

}  // namespace pkb::virtual_gpu
