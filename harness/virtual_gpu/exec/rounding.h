// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "harness/virtual_gpu/exec/half_type.h"

/// Correct rounding by way of a wider type that is rounded to odd: an inexact result gets an odd last bit, so
/// that rounding it once more, in any direction, is as good as rounding once.
namespace pkb::virtual_gpu {

/// The double nearest to a value, `error` = value - nearest being exact or at least of the right sign -> to
/// odd.
inline double to_odd(double nearest, double error) {
  auto bits = std::bit_cast<std::uint64_t>(nearest);
  const bool inexact = error > 0 || error < 0;  // infinite operands make it NaN
  const bool adjust = inexact && std::isfinite(nearest) && (bits & 1) == 0;
  // Towards the exact value; a sum of zero has no error.
  const std::uint64_t step = (error > 0) == (nearest > 0) ? 1 : ~0ull;
  return std::bit_cast<double>(adjust ? bits + step : bits);
}

inline double add_to_odd(double a, double b) {
  const double sum = a + b;
  const double b_part = sum - a;
  return to_odd(sum, (a - (sum - b_part)) + (b - b_part));
}

/// The factors have at most 26 significant bits, so that their product is exact.
inline double fma_to_odd(double a, double b, double c) { return add_to_odd(a * b, c); }

inline double div_to_odd(double a, double b) {
  const double quotient = a / b;
  const double rest = __builtin_fma(-quotient, b, a);
  return to_odd(quotient, b < 0 ? -rest : rest);
}

inline double sqrt_to_odd(double a) {
  const double root = __builtin_sqrt(a);
  return to_odd(root, __builtin_fma(-root, root, a));
}

/// A double to odd as a float to odd.
inline float to_odd_float(double value) {
  const float nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool adjust = static_cast<double>(nearest) != value && std::fabs(value) < 0x1p128 && (bits & 1) == 0;
  const std::uint32_t step = std::fabs(value) > std::fabs(static_cast<double>(nearest)) ? 1 : ~0u;
  return std::bit_cast<float>(adjust ? bits + step : bits);
}

/// `value` as a float, rounded as said.
inline float to_float(double value, Rounding rounding) {
  const float nearest = static_cast<float>(value);
  auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  if (value != value || back == value) return nearest;
  const bool too_far = std::fabs(back) > std::fabs(value);
  switch (rounding) {
    case Rounding::nearest:
    case Rounding::away:
      break;
    case Rounding::zero:
      bits -= too_far ? 1 : 0;
      break;
    case Rounding::down:
      bits += back > value ? (too_far ? ~0u : 1u) : 0;
      break;
    case Rounding::up:
      bits += back < value ? (too_far ? ~0u : 1u) : 0;
      break;
  }
  return std::bit_cast<float>(bits);
}

/// To nearest even, in code that the compiler can make vectors of.
inline Half to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
  const std::uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1)) >> 13;
  // Adding 1/2 rounds at 2^-24, the unit of subnormal halves.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
  std::uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result;
  result |= sign;
  return {static_cast<std::uint16_t>(magnitude > 0x7f800000u ? kNan16 : result)};
}

inline Brain to_brain(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  return {static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? kNan16 : rounded)};
}

template <class H>
H rounded(float value);
template <>
inline Half rounded<Half>(float value) {
  return to_half(value);
}
template <>
inline Brain rounded<Brain>(float value) {
  return to_brain(value);
}

}  // namespace pkb::virtual_gpu
