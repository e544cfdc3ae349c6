// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

/// Matrices of small integers, which every format and every order of summation holds exactly, for tests.
namespace pkb::virtual_gpu {

/// "{%r10, %r11}".
inline std::string registers(const std::string& prefix, int first, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", prefix, first + i);
  return "{" + text + "}";
}

/// A small integer in a floating-point format with that many exponent and fraction bits, by hand.
inline std::uint32_t encode(int value, int exponent_bits, int fraction_bits) {
  if (value == 0) return 0;
  const auto magnitude = static_cast<unsigned>(std::abs(value));
  const int exponent = std::bit_width(magnitude) - 1, bias = (1 << (exponent_bits - 1)) - 1;
  const unsigned fraction = (magnitude ^ 1u << exponent) << (fraction_bits - exponent);
  return (value < 0 ? 1u << (exponent_bits + fraction_bits) : 0u) |
         static_cast<unsigned>(exponent + bias) << fraction_bits | fraction;
}

struct Format {
  const char* name;
  int bits, least, most;
  int exponent_bits, fraction_bits;  // 0: an integer
};
inline constexpr Format kF16{"f16", 16, -3, 3, 5, 10}, kBf16{"bf16", 16, -3, 3, 8, 7}, kTf32{"tf32", 32, -3, 3, 8, 23},
    kE4m3{"e4m3", 8, -4, 4, 4, 3}, kE5m2{"e5m2", 8, -4, 4, 5, 2}, kS8{"s8", 8, -128, 127, 0, 0},
    kU8{"u8", 8, 0, 255, 0, 0}, kS4{"s4", 4, -8, 7, 0, 0}, kU4{"u4", 4, 0, 15, 0, 0}, kB1{"b1", 1, 0, 1, 0, 0};

inline std::uint32_t encode(int value, const Format& format) {
  if (format.exponent_bits == 0)
    return static_cast<std::uint32_t>(value) & static_cast<std::uint32_t>((1ull << format.bits) - 1);
  return encode(value, format.exponent_bits, format.fraction_bits);
}

/// An element of a matrix, anything in the format's range.
inline int value_at(int seed, int i, int j, const Format& format) {
  const int range = format.most - format.least + 1;
  return format.least + (i * 37 + j * 101 + (i * j + seed) * 13) % range;
}

}  // namespace pkb::virtual_gpu
