// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "reference/dtype.h"

/// Stored numbers as doubles, without CUDA's headers. Every value of every format here is exact in a double
/// but for int64 beyond 2^53.
namespace pkb::check {

/// A binary floating-point format: significand bits with the hidden one, exponent range, what lies beyond.
struct Format {
  int precision, exponent_bits;
  bool has_infinity;  ///< false: e4m3fn, whose largest exponent holds numbers and only all ones is NaN
};

constexpr Format format_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {8, 8, true};
    case DType::f16:
      return {11, 5, true};
    case DType::f32:
      return {24, 8, true};
    case DType::e4m3:
      return {4, 4, false};
    case DType::e5m2:
      return {3, 5, true};
    case DType::f64:
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
      return {53, 11, true};
  }
  return {53, 11, true};
}

/// The value that the bits of a format of up to 16 bits stand for.
inline double decode(std::uint32_t bits, Format format) {
  const int fraction_bits = format.precision - 1;
  const int top_exponent = (1 << format.exponent_bits) - 1;
  const int bias = top_exponent >> 1;
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  const int exponent = static_cast<int>(bits >> fraction_bits) & top_exponent;
  const double sign = (bits >> (fraction_bits + format.exponent_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == top_exponent) {
    if (format.has_infinity)
      return fraction ? std::numeric_limits<double>::quiet_NaN()
                      : sign * std::numeric_limits<double>::infinity();
    if (fraction == (1u << fraction_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fraction_bits);
  return sign * std::ldexp((1u << fraction_bits) | fraction, exponent - bias - fraction_bits);
}

template <class U>
U load(const std::byte* data, std::int64_t index) {
  U value;
  std::memcpy(&value, data + index * static_cast<std::int64_t>(sizeof(U)), sizeof(U));
  return value;
}

/// Element `index` of an array of `dtype`.
inline double number_at(DType dtype, const std::byte* data, std::int64_t index) {
  switch (dtype) {
    case DType::bf16: {
      const std::uint32_t bits = std::uint32_t{load<std::uint16_t>(data, index)} << 16;
      float value;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    }
    case DType::f16:
      return decode(load<std::uint16_t>(data, index), format_of(dtype));
    case DType::e4m3:
    case DType::e5m2:
      return decode(load<std::uint8_t>(data, index), format_of(dtype));
    case DType::f32:
      return load<float>(data, index);
    case DType::f64:
      return load<double>(data, index);
    case DType::i8:
      return load<std::int8_t>(data, index);
    case DType::u8:
      return load<std::uint8_t>(data, index);
    case DType::i32:
      return load<std::int32_t>(data, index);
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(data, index));
  }
  return 0;
}

/// The finite number of largest magnitude in a floating format.
inline double largest(DType dtype) {
  const Format format = format_of(dtype);
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const int top = format.has_infinity ? bias : bias + 1;
  const double significand =
      format.has_infinity ? 2 - std::ldexp(1, 1 - format.precision) : 2 - std::ldexp(1, 2 - format.precision);
  return std::ldexp(significand, top);
}

/// The distance between the numbers of a floating format at a finite `value`: twice the largest error of one
/// rounding. 0 for integer dtypes.
inline double spacing(DType dtype, double value) {
  if (!info(dtype).floating) return 0;
  const Format format = format_of(dtype);
  const int smallest_exponent = 2 - (1 << (format.exponent_bits - 1));
  const int exponent = value == 0 ? smallest_exponent : std::max(std::ilogb(value), smallest_exponent);
  return std::ldexp(1, exponent - (format.precision - 1));
}

/// `value` rounded once to the format of `dtype`, to nearest, ties to even; infinite beyond its range.
/// Integer dtypes return `value` itself.
inline double round_to(DType dtype, double value) {
  if (!info(dtype).floating || dtype == DType::f64 || value == 0 || !std::isfinite(value)) return value;
  const double step = spacing(dtype, value);
  const double rounded = std::nearbyint(value / step) * step;
  if (std::fabs(rounded) > largest(dtype))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

}  // namespace pkb::check
