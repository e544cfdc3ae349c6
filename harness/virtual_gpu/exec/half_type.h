// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

/// 16-bit floats as bits.
namespace pkb::virtual_gpu {

struct Half {
  std::uint16_t bits;
};  ///< IEEE binary16
struct Brain {
  std::uint16_t bits;
};  ///< bfloat16

inline constexpr std::uint16_t kNan16 = 0x7fff;  ///< what every 16-bit operation gives for NaN

enum class Rounding : std::uint8_t { nearest, zero, down, up, away };

inline float to_float(Brain a) { return std::bit_cast<float>(static_cast<std::uint32_t>(a.bits) << 16); }

inline float to_float(Half a) {
  // Exponent and mantissa move up 13 bits; multiplying by 2^112 corrects the bias and normalises subnormals.
  const std::uint32_t magnitude = (a.bits & 0x7fffu) << 13;
  const std::uint32_t sign = (a.bits & 0x8000u) << 16;
  const float scaled = std::bit_cast<float>(magnitude) * 0x1p112f;
  const std::uint32_t special = magnitude >= 0x0f800000u ? 0x7f800000u : 0;  // infinity and NaN
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | special | sign);
}

/// An IEEE-like format of up to 16 bits.
struct SmallFormat {
  int fraction_bits, exponent_bits;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
};
inline constexpr SmallFormat kHalfFormat{10, 5}, kBrainFormat{7, 8};

/// `value` in a format of 16 bits, rounded as said.
inline std::uint16_t round_to(double value, SmallFormat format, Rounding rounding) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << (format.fraction_bits + format.exponent_bits));
  const std::uint64_t magnitude = bits & ~(1ull << 63);
  if (magnitude > 0x7ffull << 52) return kNan16;
  const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
  if (magnitude == 0x7ffull << 52) return static_cast<std::uint16_t>(sign | infinity);
  if (magnitude == 0) return sign;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023;
  std::uint64_t fraction = (magnitude & ((1ull << 52) - 1)) | (exponent == -1023 ? 0 : 1ull << 52);
  const int least = 1 - format.bias();
  const int dropped = 52 - format.fraction_bits + (exponent < least ? least - exponent : 0);
  std::uint64_t kept = dropped > 63 ? 0 : fraction >> dropped;
  const std::uint64_t rest = dropped > 63 ? 1 : fraction & ((1ull << dropped) - 1);
  const std::uint64_t half = dropped > 63 ? 2 : 1ull << (dropped - 1);
  bool up = false;
  switch (rounding) {
    case Rounding::nearest:
      up = rest > half || (rest == half && (kept & 1) != 0);
      break;
    case Rounding::away:
      up = rest >= half;
      break;
    case Rounding::zero:
      break;
    case Rounding::down:
      up = rest != 0 && sign != 0;
      break;
    case Rounding::up:
      up = rest != 0 && sign == 0;
      break;
  }
  kept += up ? 1 : 0;
  // `kept` holds the hidden bit of a normal number, which adds one to the exponent field.
  const int biased = exponent < least ? 0 : exponent + format.bias() - 1;
  const std::uint64_t packed = (static_cast<std::uint64_t>(biased) << format.fraction_bits) + kept;
  if (packed >= infinity) {
    const bool saturates = rounding == Rounding::zero || (rounding == Rounding::down && sign == 0) ||
                           (rounding == Rounding::up && sign != 0);
    return static_cast<std::uint16_t>(sign | (saturates ? infinity - 1 : infinity));
  }
  return static_cast<std::uint16_t>(sign | packed);
}

inline Half to_half(double value, Rounding rounding) { return {round_to(value, kHalfFormat, rounding)}; }
inline Brain to_brain(double value, Rounding rounding) { return {round_to(value, kBrainFormat, rounding)}; }

}  // namespace pkb::virtual_gpu
