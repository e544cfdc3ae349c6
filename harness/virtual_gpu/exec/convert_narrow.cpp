// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/convert.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/float8_type.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/rounding.h"

// cvt from f32 to narrower formats, to and from 8-bit floats, and cvt.pack (PTX ISA 9.7.9.21, 9.7.9.22).
namespace pkb::virtual_gpu {
namespace {

/// .relu: negative numbers become +0, NaN stays.
float relu(float a) { return a != a ? a : a > 0 ? a : 0.0f; }

/// .satfinite: what is beyond the largest finite number becomes that. `Infinity` are the bits of infinity.
template <std::uint32_t infinity, std::uint32_t step = 1>
std::uint32_t finite(std::uint32_t bits, std::uint32_t sign) {
  return (bits & ~sign) == infinity ? bits - step : bits;
}

template <class H, Rounding r>
H narrowed(float a) {
  if constexpr (r == Rounding::nearest)
    return rounded<H>(a);
  else if constexpr (std::is_same_v<H, Half>)
    return to_half(a, r);
  else
    return to_brain(a, r);
}
template <class H, Rounding r, bool relus, bool saturates>
H narrow(float a) {
  const H result = narrowed<H, r>(relus ? relu(a) : a);
  constexpr std::uint32_t kInfinity = std::is_same_v<H, Half> ? 0x7c00 : 0x7f80;
  return saturates ? H{static_cast<std::uint16_t>(finite<kInfinity>(result.bits, 0x8000))} : result;
}
template <class H, Rounding r, bool relus, bool saturates>
std::uint32_t pack(float high, float low) {
  return std::uint32_t{narrow<H, r, relus, saturates>(high).bits} << 16 | narrow<H, r, relus, saturates>(low).bits;
}

/// To 10 fraction bits; the lower 13 bits become zeros.
template <Rounding r, bool relus, bool saturates>
std::uint32_t to_tf32(float a) {
  const auto bits = std::bit_cast<std::uint32_t>(relus ? relu(a) : a);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fffffffu;
  const std::uint32_t half = r == Rounding::away      ? 0x1000u
                             : r == Rounding::nearest ? 0xfffu + (bits >> 13 & 1)
                                                      : 0;
  const std::uint32_t result = (bits + half) & ~0x1fffu;
  return saturates ? finite<0x7f800000u, 0x2000u>(result, 0x80000000u) : result;
}

template <class E>
E to_float8(float a);
template <>
E4m3 to_float8<E4m3>(float a) {
  return to_e4m3(a);
}
template <>
E5m2 to_float8<E5m2>(float a) {
  return to_e5m2(a);
}

template <class E, bool relus>
std::uint16_t pack_float8(float high, float low) {
  const auto part = [](float a) { return to_float8<E>(relus ? relu(a) : a).bits; };
  return static_cast<std::uint16_t>(part(high) << 8 | part(low));
}
template <class E, bool relus>
std::uint16_t halves_to_float8(std::uint32_t a) {
  return pack_float8<E, relus>(to_float(Half{static_cast<std::uint16_t>(a >> 16)}),
                               to_float(Half{static_cast<std::uint16_t>(a)}));
}
template <class E, bool relus>
std::uint32_t float8_to_halves(std::uint16_t a) {
  const auto part = [](int bits) {
    const float value = to_float(E{static_cast<std::uint8_t>(bits)});
    return std::uint32_t{to_half(relus ? relu(value) : value).bits};
  };
  return part(a >> 8) << 16 | part(a & 0xff);
}

/// Clamps to `bits` bits.
template <int bits, bool is_signed>
std::uint32_t clamped(std::int32_t a) {
  constexpr std::int32_t kMost = (1 << (bits - (is_signed ? 1 : 0))) - 1, kLeast = is_signed ? -kMost - 1 : 0;
  return static_cast<std::uint32_t>(std::clamp(a, kLeast, kMost)) & ((1u << bits) - 1);
}
template <int bits, bool is_signed>
std::uint32_t pack_two(std::int32_t a, std::int32_t b) {
  return clamped<bits, is_signed>(a) << bits | clamped<bits, is_signed>(b);
}
/// What was packed before moves up.
template <int bits, bool is_signed>
std::uint32_t pack_more(std::int32_t a, std::int32_t b, std::uint32_t c) {
  return c << 2 * bits | pack_two<bits, is_signed>(a, b);
}

template <class H, Rounding r, bool relus, bool saturates>
void add_narrow(Table& table, const std::string& modifiers, const std::string& type) {
  const std::string one = fmt::format("cvt.{}.{}.f32", modifiers, type),
                    two = fmt::format("cvt.{}.{}x2.f32", modifiers, type);
  if constexpr (r == Rounding::nearest)
    table.add(lanes<narrow<H, r, relus, saturates>>(one), lanes<pack<H, r, relus, saturates>>(two));
  else
    table.add(one_by_one<narrow<H, r, relus, saturates>>(one), one_by_one<pack<H, r, relus, saturates>>(two));
}
template <class H, Rounding r>
void add_rounding(Table& table, const std::string& mode, const std::string& type) {
  add_narrow<H, r, false, false>(table, mode, type);
  add_narrow<H, r, true, false>(table, mode + ".relu", type);
  add_narrow<H, r, false, true>(table, mode + ".satfinite", type);
  for (const char* both : {".relu.satfinite", ".satfinite.relu"})
    add_narrow<H, r, true, true>(table, mode + both, type);
}

template <class E>
void add_float8(Table& table, const std::string& type) {
  table.add(lanes<pack_float8<E, false>>(fmt::format("cvt.rn.satfinite.{}.f32", type)),
            lanes<halves_to_float8<E, false>>(fmt::format("cvt.rn.satfinite.{}.f16x2", type)),
            lanes<float8_to_halves<E, false>>(fmt::format("cvt.rn.f16x2.{}", type)),
            lanes<float8_to_halves<E, true>>(fmt::format("cvt.rn.relu.f16x2.{}", type)));
  for (const char* both : {"relu.satfinite", "satfinite.relu"})
    table.add(lanes<pack_float8<E, true>>(fmt::format("cvt.rn.{}.{}.f32", both, type)),
              lanes<halves_to_float8<E, true>>(fmt::format("cvt.rn.{}.{}.f16x2", both, type)));
}

template <int bits, bool is_signed>
void add_pack(Table& table, const std::string& type) {
  if constexpr (bits == 16)
    table.add(lanes<pack_two<bits, is_signed>>(fmt::format("cvt.pack.sat.{}.s32", type)));
  else
    table.add(lanes<pack_more<bits, is_signed>>(fmt::format("cvt.pack.sat.{}.s32.b32", type)));
}

}  // namespace

void add_convert_narrow(Table& table) {
  add_rounding<Half, Rounding::nearest>(table, "rn", "f16");
  add_rounding<Half, Rounding::zero>(table, "rz", "f16");
  add_rounding<Brain, Rounding::nearest>(table, "rn", "bf16");
  add_rounding<Brain, Rounding::zero>(table, "rz", "bf16");
  table.add(lanes<to_tf32<Rounding::away, false, false>>("cvt.rna.tf32.f32"),
            lanes<to_tf32<Rounding::away, false, true>>("cvt.rna.satfinite.tf32.f32"),
            lanes<to_tf32<Rounding::nearest, false, false>>("cvt.rn.tf32.f32"),
            lanes<to_tf32<Rounding::nearest, true, false>>("cvt.rn.relu.tf32.f32"),
            lanes<to_tf32<Rounding::zero, false, false>>("cvt.rz.tf32.f32"),
            lanes<to_tf32<Rounding::zero, true, false>>("cvt.rz.relu.tf32.f32"));
  add_float8<E4m3>(table, "e4m3x2");
  add_float8<E5m2>(table, "e5m2x2");
  add_pack<16, false>(table, "u16"), add_pack<16, true>(table, "s16");
  add_pack<8, false>(table, "u8"), add_pack<8, true>(table, "s8");
  add_pack<4, false>(table, "u4"), add_pack<4, true>(table, "s4");
  add_pack<2, false>(table, "u2"), add_pack<2, true>(table, "s2");
}

}  // namespace pkb::virtual_gpu
