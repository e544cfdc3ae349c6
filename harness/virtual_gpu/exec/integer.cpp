// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/lanes.h"

// Integer arithmetic (PTX ISA 9.7.1, 9.7.2). Sums and products are unsigned inside because PTX wraps where
// signed C++ is undefined.
namespace pkb::virtual_gpu {
namespace {

using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
using Unsigned = std::make_unsigned_t<T>;
template <class T>
constexpr int kBits = 8 * sizeof(T);
/// Twice as wide.
template <class T>
using Double = std::conditional_t<
    sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, s32, u32>,
    std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, s64, u64>,
                       std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;
/// At least 32 bits: 16-bit operands would promote to signed int.
template <class T>
using Wrap = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class T>
T add(T a, T b) {
  return static_cast<T>(Wrap<T>(a) + Wrap<T>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(Wrap<T>(a) - Wrap<T>(b));
}
template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(Wrap<T>(a) * Wrap<T>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>((Double<T>(a) * Double<T>(b)) >> kBits<T>);
}
template <class T>
Double<T> mul_wide(T a, T b) {
  using Product = Wrap<Double<T>>;
  return static_cast<Double<T>>(Product(Double<T>(a)) * Product(Double<T>(b)));
}
template <class T>
T mad_lo(T a, T b, T c) {
  return add(mul_lo(a, b), c);
}
template <class T>
T mad_hi(T a, T b, T c) {
  return add(mul_hi(a, b), c);
}
template <class T>
Double<T> mad_wide(T a, T b, Double<T> c) {
  return add(mul_wide(a, b), c);
}
template <class T>
T neg(T a) {
  return sub(T{0}, a);
}
template <class T>
T abs(T a) {
  return a < 0 ? neg(a) : a;
}
template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T max(T a, T b) {
  return std::max(a, b);
}
template <class T>
T min_relu(T a, T b) {
  return std::max(std::min(a, b), T{0});
}
template <class T>
T max_relu(T a, T b) {
  return std::max(std::max(a, b), T{0});
}

s32 clamp(s64 value) {
  return static_cast<s32>(
      std::clamp<s64>(value, std::numeric_limits<s32>::min(), std::numeric_limits<s32>::max()));
}
s32 add_sat(s32 a, s32 b) { return clamp(s64{a} + b); }
s32 sub_sat(s32 a, s32 b) { return clamp(s64{a} - b); }
s32 mad_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{mul_hi(a, b)} + c); }

// Without a divisor the hardware's sequences yield all ones.
template <class T>
T div(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == T{-1}) return neg(a);
  return static_cast<T>(a / b);
}
template <class T>
T rem(T a, T b) {
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>)
    if (b == T{-1}) return 0;
  return static_cast<T>(a % b);
}

template <class T>
T sad(T a, T b, T c) {
  const Wrap<T> difference = a < b ? Wrap<T>(b) - Wrap<T>(a) : Wrap<T>(a) - Wrap<T>(b);
  return static_cast<T>(Wrap<T>(c) + difference);
}

template <class T>
Double<T> low24(T a) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<s32>(static_cast<u32>(a) << 8) >> 8;
  else
    return a & 0xffffffu;
}
template <class T>
T mul24_lo(T a, T b) {
  return static_cast<T>(low24(a) * low24(b));
}
template <class T>
T mul24_hi(T a, T b) {
  return static_cast<T>((low24(a) * low24(b)) >> 16);
}
template <class T>
T mad24_lo(T a, T b, T c) {
  return add(mul24_lo(a, b), c);
}
template <class T>
T mad24_hi(T a, T b, T c) {
  return add(mul24_hi(a, b), c);
}

s32 mad24_hi_sat(s32 a, s32 b, s32 c) { return clamp(s64{mul24_hi(a, b)} + c); }

template <class T>
u32 popc(T a) {
  return static_cast<u32>(std::popcount(a));
}
template <class T>
u32 clz(T a) {
  return static_cast<u32>(std::countl_zero(a));
}

u32 brev32(u32 a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
}
u64 brev64(u64 a) { return u64{brev32(static_cast<u32>(a))} << 32 | brev32(static_cast<u32>(a >> 32)); }

// Position of the highest bit that differs from the sign, counted from bit 0, or (shiftamt) the shift that
// brings it to the top; all ones when there is none.
template <class T, bool Shift>
u32 bfind(T a) {
  Unsigned<T> bits = static_cast<Unsigned<T>>(a);
  if (std::is_signed_v<T> && a < 0) bits = ~bits;
  if (bits == 0) return ~0u;
  const int zeros = std::countl_zero(bits);
  return static_cast<u32>(Shift ? zeros : kBits<T> - 1 - zeros);
}

/// Position or length of a bit field: the low byte for 32 bits, all of it for 64, as the hardware has it.
template <class T>
u32 field_size(u32 a) {
  return sizeof(T) == 8 ? std::min(a, 255u) : a & 0xff;
}

// Past the top the field is filled with its sign: the bit at min(position + length - 1, top).
template <class T>
T bfe(T a, u32 b, u32 c) {
  const u32 position = field_size<T>(b), length = field_size<T>(c);
  constexpr u32 top = kBits<T> - 1;
  const auto bits = static_cast<Unsigned<T>>(a);
  if (length == 0) return 0;
  const bool sign = std::is_signed_v<T> && (bits >> std::min(position + length - 1, top) & 1) != 0;
  const Unsigned<T> fill = sign ? static_cast<Unsigned<T>>(~Unsigned<T>{0}) : 0;
  Unsigned<T> field = position > top ? fill : bits >> position;
  if (position != 0 && position <= top) field |= fill << (top - position) << 1;
  if (length <= top) field = (field & ~(~Unsigned<T>{0} << length)) | (fill << length);
  return static_cast<T>(field);
}

template <class T>
T bfi(T a, T b, u32 c, u32 d) {
  const u32 position = field_size<T>(c), length = field_size<T>(d);
  if (length == 0 || position >= kBits<T>) return b;
  const T field = length >= kBits<T> ? ~T{0} : ~(~T{0} << length);
  return (b & ~(field << position)) | ((a & field) << position);
}

// szext: the low `b` bits of a, extended by zeros or their sign.
template <class T, bool Wrapped>
T szext(T a, u32 b) {
  if (Wrapped) b &= 31;
  if (b == 0) return 0;
  if (b >= 32) return a;
  return static_cast<T>(static_cast<T>(static_cast<u32>(a) << (32 - b)) >> (32 - b));
}

template <bool Wrapped>
u32 bmsk(u32 a, u32 b) {
  const u32 position = Wrapped ? a & 31 : a, width = Wrapped ? b & 31 : std::min(b, 32u);
  if (position >= 32 || width == 0) return 0;
  return (width >= 32 ? ~0u : (1u << width) - 1) << position;
}

// fns: position of the n-th set bit from `base` on, upwards when n > 0, downwards when n < 0.
u32 fns(u32 mask, u32 base, s32 n) {
  if (n == std::numeric_limits<s32>::min())
    return 0;  // it has no opposite: the hardware's count begins at its end
  if (base > 31) return ~0u;
  if (n == 0) return (mask >> base & 1) != 0 ? base : ~0u;
  s32 left = n > 0 ? n : -n;
  for (s32 at = static_cast<s32>(base); at >= 0 && at<32; at += n> 0 ? 1 : -1)
    if ((mask >> at & 1) != 0 && --left == 0) return static_cast<u32>(at);
  return ~0u;
}

template <class A, class B>
u32 dp4a(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 32; i += 8)
    c +=
        static_cast<u32>(static_cast<s32>(static_cast<A>(a >> i)) * static_cast<s32>(static_cast<B>(b >> i)));
  return c;
}
template <class A, class B, int Shift>
u32 dp2a(u32 a, u32 b, u32 c) {
  for (int i = 0; i < 2; ++i)
    c += static_cast<u32>(static_cast<s32>(static_cast<A>(a >> 16 * i)) *
                          static_cast<s32>(static_cast<B>(b >> (8 * i + Shift))));
  return c;
}

template <class T>
void add_type(Table& table, const std::string& type) {
  table.add(lanes<add<T>>("add." + type), lanes<sub<T>>("sub." + type), lanes<mul_lo<T>>("mul.lo." + type),
            lanes<mul_hi<T>>("mul.hi." + type), lanes<mad_lo<T>>("mad.lo." + type),
            lanes<mad_hi<T>>("mad.hi." + type), one_by_one<div<T>>("div." + type),
            one_by_one<rem<T>>("rem." + type), lanes<min<T>>("min." + type), lanes<max<T>>("max." + type),
            lanes<sad<T>>("sad." + type));
  if constexpr (sizeof(T) < 8)
    table.add(lanes<mul_wide<T>>("mul.wide." + type), lanes<mad_wide<T>>("mad.wide." + type));
  if constexpr (std::is_signed_v<T>) table.add(lanes<neg<T>>("neg." + type), lanes<abs<T>>("abs." + type));
}

/// The same on both 16-bit halves of a register.
template <class T, T (*f)(T, T)>
u32 of_halves(u32 a, u32 b) {
  const auto half = [=](int shift) {
    return u32{static_cast<u16>(f(static_cast<T>(a >> shift), static_cast<T>(b >> shift)))} << shift;
  };
  return half(16) | half(0);
}

template <class T>
void add_packed(Table& table, const std::string& type) {
  table.add(lanes<of_halves<T, add<T>>>("add." + type), lanes<of_halves<T, min<T>>>("min." + type),
            lanes<of_halves<T, max<T>>>("max." + type));
}

template <class T>
void add_bits(Table& table, const std::string& type) {
  table.add(lanes<bfe<T>>("bfe." + type), one_by_one<bfind<T, false>>("bfind." + type),
            one_by_one<bfind<T, true>>("bfind.shiftamt." + type));
}

template <class T>
void add_24(Table& table, const std::string& type) {
  table.add(lanes<mul24_lo<T>>("mul24.lo." + type), lanes<mul24_hi<T>>("mul24.hi." + type),
            lanes<mad24_lo<T>>("mad24.lo." + type), lanes<mad24_hi<T>>("mad24.hi." + type));
  table.add(lanes<szext<T, true>>("szext.wrap." + type), lanes<szext<T, false>>("szext.clamp." + type));
}

template <class A, class B>
void add_dot(Table& table, const std::string& types) {
  table.add(lanes<dp4a<A, B>>("dp4a." + types));
  using WideA = std::conditional_t<std::is_signed_v<A>, s16, u16>;
  table.add(lanes<dp2a<WideA, B, 0>>("dp2a.lo." + types), lanes<dp2a<WideA, B, 16>>("dp2a.hi." + types));
}

}  // namespace

void add_integer(Table& table) {
  add_type<u16>(table, "u16");
  add_type<s16>(table, "s16");
  add_type<u32>(table, "u32");
  add_type<s32>(table, "s32");
  add_type<u64>(table, "u64");
  add_type<s64>(table, "s64");
  add_packed<u16>(table, "u16x2");
  add_packed<s16>(table, "s16x2");
  add_bits<u32>(table, "u32");
  add_bits<s32>(table, "s32");
  add_bits<u64>(table, "u64");
  add_bits<s64>(table, "s64");
  add_24<u32>(table, "u32");
  add_24<s32>(table, "s32");
  table.add(lanes<add_sat>("add.sat.s32"), lanes<sub_sat>("sub.sat.s32"), lanes<mad_hi_sat>("mad.hi.sat.s32"),
            lanes<mad24_hi_sat>("mad24.hi.sat.s32"));
  // .relu stands before the type in the ISA, behind it in what nvcc writes.
  for (const auto& [a, b] : {std::pair{".relu", ""}, std::pair{"", ".relu"}}) {
    table.add(lanes<min_relu<s32>>(fmt::format("min{}.s32{}", a, b)),
              lanes<max_relu<s32>>(fmt::format("max{}.s32{}", a, b)),
              lanes<of_halves<s16, min_relu<s16>>>(fmt::format("min{}.s16x2{}", a, b)),
              lanes<of_halves<s16, max_relu<s16>>>(fmt::format("max{}.s16x2{}", a, b)));
  }
  table.add(lanes<bfi<u32>>("bfi.b32"), lanes<bfi<u64>>("bfi.b64"), lanes<brev32>("brev.b32"),
            lanes<brev64>("brev.b64"), lanes<popc<u32>>("popc.b32"), lanes<popc<u64>>("popc.b64"),
            one_by_one<clz<u32>>("clz.b32"), one_by_one<clz<u64>>("clz.b64"), one_by_one<fns>("fns.b32"),
            lanes<bmsk<false>>("bmsk.clamp.b32"), lanes<bmsk<true>>("bmsk.wrap.b32"));
  add_dot<u8, u8>(table, "u32.u32");
  add_dot<u8, std::int8_t>(table, "u32.s32");
  add_dot<std::int8_t, u8>(table, "s32.u32");
  add_dot<std::int8_t, std::int8_t>(table, "s32.s32");
}

}  // namespace pkb::virtual_gpu
