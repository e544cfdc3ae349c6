// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

#include "harness/virtual_gpu/exec/half_type.h"

/// 8-bit floats as bits.
namespace pkb::virtual_gpu {

struct E4m3 {
  std::uint8_t bits;
};  ///< 4 exponent bits (bias 7), 3 fraction bits, no infinity; 0x7f and 0xff are NaN
struct E5m2 {
  std::uint8_t bits;
};  ///< the upper half of a binary16

inline constexpr std::uint8_t kNan8 = 0x7f;  ///< what conversions give for NaN

inline float to_float(E4m3 a) {
  // Exponent and fraction move up 20 bits; multiplying by 2^120 corrects the bias and normalises subnormals.
  const std::uint32_t magnitude = a.bits & 0x7fu, sign = (a.bits & 0x80u) << 24;
  const float scaled = std::bit_cast<float>(magnitude << 20) * 0x1p120f;
  const std::uint32_t value = magnitude == kNan8 ? 0x7fffffffu : std::bit_cast<std::uint32_t>(scaled);
  return std::bit_cast<float>(value | sign);
}
inline float to_float(E5m2 a) { return to_float(Half{static_cast<std::uint16_t>(a.bits << 8)}); }

/// To nearest even; what is beyond the largest finite number becomes that (.satfinite). `bias` is the
/// difference of the exponent biases, `largest` the bits of the largest finite number.
template <int fraction_bits, std::uint32_t bias, std::uint32_t largest>
std::uint8_t round_to_float8(float value) {
  constexpr int kDropped = 23 - fraction_bits;
  constexpr std::uint32_t kLeastNormal = (bias + 1) << 23;
  // Adding this rounds at the unit of subnormal results, for it is the last place of the sum.
  constexpr std::uint32_t kMagic = (bias + 1 + kDropped) << 23;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 24 & 0x80u;
  const std::uint32_t normal =
      (magnitude - (bias << 23) + ((1u << (kDropped - 1)) - 1) + (magnitude >> kDropped & 1)) >> kDropped;
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + std::bit_cast<float>(kMagic)) - kMagic;
  std::uint32_t result = magnitude < kLeastNormal ? subnormal : normal;
  constexpr std::uint32_t kLargest = (largest << kDropped) + (bias << 23);
  result = magnitude >= kLargest ? largest : result;
  return static_cast<std::uint8_t>(magnitude > 0x7f800000u ? kNan8 : result | sign);
}
inline E4m3 to_e4m3(float value) { return {round_to_float8<3, 120, 0x7e>(value)}; }
inline E5m2 to_e5m2(float value) { return {round_to_float8<2, 112, 0x7b>(value)}; }

}  // namespace pkb::virtual_gpu
