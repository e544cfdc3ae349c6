// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "reference/dtype.h"
#include "reference/require.h"

#if defined(__CUDACC__)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#define PKB_HD __host__ __device__
#else
#define PKB_HD
#endif

/// The C++ types of elements, the same on host and device, and the choice of one by a run-time DType.
namespace pkb::ref {

struct Bf16 {
  std::uint16_t bits;
};
struct F16 {
  std::uint16_t bits;
};

PKB_HD inline float to_float(Bf16 x) { return __builtin_bit_cast(float, std::uint32_t(x.bits) << 16); }

PKB_HD inline float to_float(F16 x) {
#if defined(__CUDA_ARCH__)
  return __half2float(__builtin_bit_cast(__half, x));
#else
  // Shifted into place the exponent is too small by 127 - 15; a multiplication mends that, subnormals
  // included.
  const std::uint32_t sign = std::uint32_t(x.bits & 0x8000u) << 16, rest = std::uint32_t(x.bits & 0x7fffu)
                                                                           << 13;
  const float magnitude = __builtin_bit_cast(float, rest) * 0x1p112f;
  const std::uint32_t special = (x.bits & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;
  return __builtin_bit_cast(float, __builtin_bit_cast(std::uint32_t, magnitude) | special | sign);
#endif
}

// Both round to nearest even and give CUDA's canonical NaN, 0x7fff, on host and device.
PKB_HD inline Bf16 to_bf16(float x) {
#if defined(__CUDA_ARCH__)
  return __builtin_bit_cast(Bf16, __float2bfloat16_rn(x));
#else
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {0x7fff};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};
#endif
}

PKB_HD inline F16 to_f16(float x) {
#if defined(__CUDA_ARCH__)
  return __builtin_bit_cast(F16, __float2half_rn(x));
#else
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return {0x7fff};
  if (magnitude >= 0x47800000u) {  // 65536 and beyond
    magnitude = 0x7c00u;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: adding 1/2 rounds at 2^-24, the step of subnormals
    magnitude = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0.5f) - 0x3f000000u;
  } else {
    magnitude = (magnitude - (112u << 23) + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | magnitude)};
#endif
}

struct E4m3 {
  std::uint8_t bits;
};
struct E5m2 {
  std::uint8_t bits;
};

// The same integer steps on host and device. Out of range, e4m3 gives NaN (it has no infinity) and e5m2 an
// infinity, as PyTorch's conversions do.
PKB_HD inline float to_float(E4m3 x) {
  const std::uint32_t sign = std::uint32_t(x.bits & 0x80u) << 24, rest = x.bits & 0x7fu;
  if (rest == 0x7fu) return __builtin_bit_cast(float, sign | 0x7fc00000u);
  const float magnitude =
      rest < 8 ? static_cast<float>(rest) * 0x1p-9f : __builtin_bit_cast(float, (rest + (120u << 3)) << 20);
  return sign ? -magnitude : magnitude;
}
PKB_HD inline float to_float(E5m2 x) { return to_float(F16{static_cast<std::uint16_t>(x.bits << 8)}); }

PKB_HD inline E4m3 to_e4m3(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x43e80000u) {  // beyond 464, the middle of 448 and what would be 480
    magnitude = 0x7fu;
  } else if (magnitude < 0x3c800000u) {  // below 2^-6: adding 2^14 rounds at 2^-9, the step of subnormals
    magnitude = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0x1p14f) & 0xffu;
  } else {
    magnitude = (magnitude - (120u << 23) + 0x7ffffu + ((magnitude >> 20) & 1u)) >> 20;
  }
  return {static_cast<std::uint8_t>(sign | magnitude)};
}
PKB_HD inline E5m2 to_e5m2(float x) {
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t sign = (bits >> 24) & 0x80u;
  std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    magnitude = 0x7fu;
  } else if (magnitude >= 0x47700000u) {  // from 61440, the middle of 57344 and 65536
    magnitude = 0x7cu;
  } else if (magnitude < 0x38800000u) {  // below 2^-14: adding 2^7 rounds at 2^-16
    magnitude = __builtin_bit_cast(std::uint32_t, __builtin_bit_cast(float, magnitude) + 0x1p7f) & 0xffu;
  } else {
    magnitude = (magnitude - (112u << 23) + 0xfffffu + ((magnitude >> 21) & 1u)) >> 21;
  }
  return {static_cast<std::uint8_t>(sign | magnitude)};
}

/// `x` in float, truncated with the last bit set when that is inexact: rounding the result to a type with at
/// least two fewer digits equals rounding `x`, so that nothing is rounded twice.
PKB_HD inline float to_odd_float(double x) {
  const float nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x) return nearest;
  auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const double magnitude = x < 0 ? -x : x, reached = nearest < 0 ? -double(nearest) : double(nearest);
  if (reached > magnitude) --bits;
  return __builtin_bit_cast(float, bits | 1u);
}

/// The type in which arithmetic on T happens; results are rounded to T once.
template <class T>
struct ComputeOf {
  using type = T;
};
template <>
struct ComputeOf<Bf16> {
  using type = float;
};
template <>
struct ComputeOf<F16> {
  using type = float;
};
template <>
struct ComputeOf<E4m3> {
  using type = float;
};
template <>
struct ComputeOf<E5m2> {
  using type = float;
};
template <class T>
using Compute = typename ComputeOf<T>::type;

template <class T>
PKB_HD Compute<T> load(T x) {
  if constexpr (std::is_class_v<T>)
    return to_float(x);
  else
    return x;
}

/// `x` as T, rounded once whatever its own type.
template <class T, class From>
PKB_HD T store(From x) {
  if constexpr (std::is_class_v<T>) {
    float narrow;
    if constexpr (std::is_same_v<From, float>)
      narrow = x;
    else
      narrow = to_odd_float(static_cast<double>(x));
    if constexpr (std::is_same_v<T, Bf16>)
      return to_bf16(narrow);
    else if constexpr (std::is_same_v<T, F16>)
      return to_f16(narrow);
    else if constexpr (std::is_same_v<T, E4m3>)
      return to_e4m3(narrow);
    else
      return to_e5m2(narrow);
  } else {
    return static_cast<T>(x);
  }
}

/// Base of functors for `map` and `reduce` that are also to be called with integer dtypes.
struct TakesIntegers {};

template <class T>
struct Type {
  using type = T;
};

/// Calls `visitor(Type<T>{})` for a dtype with arithmetic; `what` names the operator in the DTypeError for
/// fp8.
template <class Visitor>
decltype(auto) visit_numeric(DType dtype, const char* what, Visitor&& visitor) {
  switch (dtype) {
    case DType::bf16:
      return visitor(Type<Bf16>{});
    case DType::f16:
      return visitor(Type<F16>{});
    case DType::f32:
      return visitor(Type<float>{});
    case DType::f64:
      return visitor(Type<double>{});
    case DType::i8:
      return visitor(Type<std::int8_t>{});
    case DType::u8:
      return visitor(Type<std::uint8_t>{});
    case DType::i32:
      return visitor(Type<std::int32_t>{});
    case DType::i64:
      return visitor(Type<std::int64_t>{});
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw DTypeError(show("{}: {} has no arithmetic; convert it first", {what, dtype}));
}

/// The same for every dtype, fp8 too, which can be converted but not computed with.
template <class Visitor>
decltype(auto) visit_any(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case DType::bf16:
      return visitor(Type<Bf16>{});
    case DType::f16:
      return visitor(Type<F16>{});
    case DType::f32:
      return visitor(Type<float>{});
    case DType::f64:
      return visitor(Type<double>{});
    case DType::i8:
      return visitor(Type<std::int8_t>{});
    case DType::u8:
      return visitor(Type<std::uint8_t>{});
    case DType::i32:
      return visitor(Type<std::int32_t>{});
    case DType::i64:
      return visitor(Type<std::int64_t>{});
    case DType::e4m3:
      return visitor(Type<E4m3>{});
    case DType::e5m2:
      return visitor(Type<E5m2>{});
  }
  throw DTypeError("no such dtype");
}

/// The same for bf16, fp16, fp32 and fp64 only.
template <class Visitor>
decltype(auto) visit_floating(DType dtype, const char* what, Visitor&& visitor) {
  switch (dtype) {
    case DType::bf16:
      return visitor(Type<Bf16>{});
    case DType::f16:
      return visitor(Type<F16>{});
    case DType::f32:
      return visitor(Type<float>{});
    case DType::f64:
      return visitor(Type<double>{});
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw DTypeError(show("{}: takes bf16, fp16, fp32 or fp64, not {}", {what, dtype}));
}

}  // namespace pkb::ref
