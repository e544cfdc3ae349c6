// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace pkb::virtual_gpu {

/// The NaN that arithmetic of a type gives.
template <class T> T nan_of();
template <> inline float nan_of<float>() { return std::bit_cast<float>(0x7fffffffu); }
template <> inline double nan_of<double>() { return std::bit_cast<double>(0xfff8000000000000ull); }

/// f32 results hold no other NaN than 0x7fffffff. f64 operations pass an operand's NaN on, made quiet, as x86 does.
inline float canonical(float a) { return a != a ? nan_of<float>() : a; }
inline double canonical(double a) { return a; }

/// .ftz: subnormal numbers count as zeros of their sign.
inline float flush(float a) { return std::fabs(a) < 0x1p-126f ? std::copysign(0.0f, a) : a; }

/// .sat: to [0, 1]; NaN gives +0.
inline float saturate(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

}  // namespace pkb::virtual_gpu
