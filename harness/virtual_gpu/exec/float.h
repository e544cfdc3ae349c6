// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace pkb::virtual_gpu {

/// The NaN that arithmetic of a type gives.
template <class T>
T nan_of();
template <>
inline float nan_of<float>() {
  return std::bit_cast<float>(0x7fffffffu);
}
template <>
inline double nan_of<double>() {
  return std::bit_cast<double>(0xfff8000000000000ull);
}

/// f32 results hold no other NaN than 0x7fffffff.
inline float canonical(float a) { return a != a ? nan_of<float>() : a; }

/// f64 results pass an operand that is NaN on, made quiet. The last argument that is NaN wins: callers put
/// them in the order recorded on an H200 (a < b in sums and products, a < c < b in fma, b < a in quotients).
inline double quiet(double a) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) | 1ull << 51); }
inline double pass_nan(double result, double a) { return a != a ? quiet(a) : result; }
inline double pass_nan(double result, double a, double b) { return pass_nan(pass_nan(result, a), b); }
inline double pass_nan(double result, double a, double b, double c) {
  return pass_nan(pass_nan(result, a, b), c);
}
inline float pass_nan(float result, float, float = 0, float = 0) { return canonical(result); }

/// .ftz: subnormal numbers count as zeros of their sign.
inline float flush(float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }

/// The same for a result whose value before rounding is known.
inline float flush(float a, double exact) {
  return std::fabs(exact) < 0x1p-126 ? std::copysign(0.0f, a) : flush(a);
}

/// .sat: to [0, 1]; NaN gives +0.
inline float saturate(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

}  // namespace pkb::virtual_gpu
