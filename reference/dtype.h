// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pkb {

/// Element types of tensors. The fp8 names follow PyTorch's `float8_e4m3fn` and `float8_e5m2`.
enum class DType : std::uint8_t { bf16, f16, f32, f64, i8, u8, i32, i64, e4m3, e5m2 };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< as in problem.json, on the command line and in results
  std::size_t bytes;
  bool floating;
};

inline constexpr DTypeInfo kDTypes[] = {
    {DType::bf16, "bf16", 2, true}, {DType::f16, "fp16", 2, true},  {DType::f32, "fp32", 4, true},
    {DType::f64, "fp64", 8, true},  {DType::i8, "int8", 1, false},  {DType::u8, "uint8", 1, false},
    {DType::i32, "int32", 4, false}, {DType::i64, "int64", 8, false}, {DType::e4m3, "fp8_e4m3", 1, true},
    {DType::e5m2, "fp8_e5m2", 1, true},
};

constexpr const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }
constexpr std::size_t size_of(DType dtype) { return info(dtype).bytes; }
constexpr std::string_view name_of(DType dtype) { return info(dtype).name; }

constexpr std::optional<DType> dtype_from(std::string_view name) {
  for (const DTypeInfo& each : kDTypes)
    if (each.name == name) return each.dtype;
  return std::nullopt;
}

/// Unit roundoff: half the distance from 1 to the next larger number (0 for integers).
constexpr double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::bf16: return 0x1p-8;
    case DType::f16: return 0x1p-11;
    case DType::f32: return 0x1p-24;
    case DType::f64: return 0x1p-53;
    case DType::e4m3: return 0x1p-4;
    case DType::e5m2: return 0x1p-3;
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64: return 0;
  }
  return 0;
}

}  // namespace pkb
