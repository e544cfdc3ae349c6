// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <string>

#include "harness/virtual_gpu/exec/lanes.h"

// cvt.pack (PTX ISA 9.7.9.22): saturates a and b, packs a above b, and c above both.
namespace pkb::virtual_gpu {
namespace {

template <unsigned bits, bool is_signed>
std::uint32_t saturated(std::int32_t value) {
  constexpr std::int32_t least = is_signed ? -(1 << (bits - 1)) : 0,
                         most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  return static_cast<std::uint32_t>(std::clamp(value, least, most)) & ((1u << bits) - 1);
}

template <unsigned bits, bool is_signed>
std::uint32_t pack(std::int32_t a, std::int32_t b) {
  return saturated<bits, is_signed>(a) << bits | saturated<bits, is_signed>(b);
}

template <unsigned bits, bool is_signed>
std::uint32_t pack_below(std::int32_t a, std::int32_t b, std::uint32_t c) {
  return c << 2 * bits | pack<bits, is_signed>(a, b);
}

template <unsigned bits>
void add_width(Table& table) {
  const std::string width = std::to_string(bits);
  table.add(lanes<pack_below<bits, false>>("cvt.pack.sat.u" + width + ".s32.b32"),
            lanes<pack_below<bits, true>>("cvt.pack.sat.s" + width + ".s32.b32"));
}

}  // namespace

void add_pack(Table& table) {
  table.add(lanes<pack<16, false>>("cvt.pack.sat.u16.s32"), lanes<pack<16, true>>("cvt.pack.sat.s16.s32"));
  add_width<2>(table);
  add_width<4>(table);
  add_width<8>(table);
}

}  // namespace pkb::virtual_gpu
