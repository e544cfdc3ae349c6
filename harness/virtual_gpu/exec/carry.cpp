// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <type_traits>

#include "harness/virtual_gpu/exec/lanes.h"

// Extended-precision arithmetic with the condition code CC.CF (PTX ISA 9.7.2).
namespace pkb::virtual_gpu {
namespace {

template <class T>
using Wide = std::conditional_t<sizeof(T) == 4, std::uint64_t, unsigned __int128>;
template <class T>
constexpr int kBits = 8 * sizeof(T);

/// d = value(lane, carry in), a wide sum whose bit above the type is the carry out.
template <class T, bool in_carry, bool out_carry, class Sum>
void with_carry(Warp& warp, const Instruction& in, Sum sum) {
  const std::uint32_t before = in_carry ? warp.carry() : 0;
  std::uint32_t after = 0;
  write<T>(warp, in.d, [&](int lane) {
    const Wide<T> value = sum(lane, static_cast<T>(before >> lane & 1));
    after |= static_cast<std::uint32_t>(value >> kBits<T> & 1) << lane;
    return static_cast<T>(value);
  });
  if (out_carry) warp.carry() = (warp.carry() & ~warp.mask()) | (after & warp.mask());
}

template <class T, bool in_carry, bool out_carry>
void add(Warp& warp, const Instruction& in) {
  const T *a = warp.at<T>(in.a), *b = warp.at<T>(in.b);
  with_carry<T, in_carry, out_carry>(warp, in,
                                     [=](int lane, T carry) { return Wide<T>{a[lane]} + b[lane] + carry; });
}

/// The borrow is the carry: a - b - borrow.
template <class T, bool in_carry, bool out_carry>
void sub(Warp& warp, const Instruction& in) {
  const T *a = warp.at<T>(in.a), *b = warp.at<T>(in.b);
  with_carry<T, in_carry, out_carry>(warp, in,
                                     [=](int lane, T carry) { return Wide<T>{a[lane]} - b[lane] - carry; });
}

template <class T, class Signed, bool high, bool in_carry, bool out_carry>
void mad(Warp& warp, const Instruction& in) {
  const T *a = warp.at<T>(in.a), *b = warp.at<T>(in.b), *c = warp.at<T>(in.c);
  using Product = std::conditional_t<std::is_signed_v<Signed>,
                                     std::conditional_t<sizeof(T) == 4, std::int64_t, __int128>, Wide<T>>;
  with_carry<T, in_carry, out_carry>(warp, in, [=](int lane, T carry) {
    const Product product = Product{static_cast<Signed>(a[lane])} * static_cast<Signed>(b[lane]);
    const T part = static_cast<T>(high ? product >> kBits<T> : product);
    return Wide<T>{part} + c[lane] + carry;
  });
}

template <class T>
void add_sums(Table& table, const std::string& type) {
  constexpr Slot slot = slot_of<T>();
  const std::array<Slot, 5> slots = {slot, slot, slot};
  table.add_all({{"add.cc." + type, add<T, false, true>, slots},
                 {"addc." + type, add<T, true, false>, slots},
                 {"addc.cc." + type, add<T, true, true>, slots},
                 {"sub.cc." + type, sub<T, false, true>, slots},
                 {"subc." + type, sub<T, true, false>, slots},
                 {"subc.cc." + type, sub<T, true, true>, slots}});
}

template <class T, class Signed>
void add_products(Table& table, const std::string& type) {
  constexpr Slot slot = slot_of<T>();
  const std::array<Slot, 5> slots = {slot, slot, slot, slot};
  table.add_all({{"mad.lo.cc." + type, mad<T, Signed, false, false, true>, slots},
                 {"mad.hi.cc." + type, mad<T, Signed, true, false, true>, slots},
                 {"madc.lo." + type, mad<T, Signed, false, true, false>, slots},
                 {"madc.hi." + type, mad<T, Signed, true, true, false>, slots},
                 {"madc.lo.cc." + type, mad<T, Signed, false, true, true>, slots},
                 {"madc.hi.cc." + type, mad<T, Signed, true, true, true>, slots}});
}

}  // namespace

void add_carry(Table& table) {
  for (const char* type : {"u32", "s32"}) add_sums<std::uint32_t>(table, type);
  for (const char* type : {"u64", "s64"}) add_sums<std::uint64_t>(table, type);
  add_products<std::uint32_t, std::uint32_t>(table, "u32");
  add_products<std::uint32_t, std::int32_t>(table, "s32");
  add_products<std::uint64_t, std::uint64_t>(table, "u64");
  add_products<std::uint64_t, std::int64_t>(table, "s64");
}

}  // namespace pkb::virtual_gpu
