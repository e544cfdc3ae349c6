// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

struct TypeInfo {
  Type type;
  std::string_view name;
  std::size_t size;
};

constexpr TypeInfo kTypes[] = {
    {Type::none, "none", 0},     {Type::pred, "pred", 1},     {Type::b8, "b8", 1},
    {Type::b16, "b16", 2},       {Type::b32, "b32", 4},       {Type::b64, "b64", 8},
    {Type::b128, "b128", 16},    {Type::u8, "u8", 1},         {Type::u16, "u16", 2},
    {Type::u32, "u32", 4},       {Type::u64, "u64", 8},       {Type::s8, "s8", 1},
    {Type::s16, "s16", 2},       {Type::s32, "s32", 4},       {Type::s64, "s64", 8},
    {Type::f16, "f16", 2},       {Type::f16x2, "f16x2", 4},   {Type::bf16, "bf16", 2},
    {Type::bf16x2, "bf16x2", 4}, {Type::f32, "f32", 4},       {Type::f64, "f64", 8},
    {Type::tf32, "tf32", 4},     {Type::e4m3, "e4m3", 1},     {Type::e5m2, "e5m2", 1},
    {Type::e4m3x2, "e4m3x2", 2}, {Type::e5m2x2, "e5m2x2", 2},
};

constexpr bool in_enum_order() {
  for (std::size_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i].type != Type(i)) return false;
  return true;
}
static_assert(in_enum_order());

}  // namespace

std::size_t size_of(Type type) { return kTypes[std::size_t(type)].size; }

std::string_view name_of(Type type) { return kTypes[std::size_t(type)].name; }

std::optional<Type> type_from(std::string_view name) {
  for (const TypeInfo& info : kTypes)
    if (info.type != Type::none && info.name == name) return info.type;
  return std::nullopt;
}

}  // namespace pkb::virtual_gpu::ptx
