// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/rounding.h"

// f16, f16x2, bf16 and bf16x2 arithmetic (PTX ISA 9.7.4), each operation rounded once.
namespace pkb::virtual_gpu {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

// A float has more than twice the bits of either type, so that rounding twice is rounding once (Figueroa
// 1995).
template <class H>
H add(H a, H b) {
  return rounded<H>(to_float(a) + to_float(b));
}
template <class H>
H sub(H a, H b) {
  return rounded<H>(to_float(a) - to_float(b));
}
// Only a bfloat16 product can be too small for a float to hold.
template <class H>
H mul(H a, H b) {
  return rounded<H>(to_odd_float(double{to_float(a)} * double{to_float(b)}));
}
template <class H>
H fma(H a, H b, H c) {
  return rounded<H>(to_odd_float(fma_to_odd(to_float(a), to_float(b), to_float(c))));
}

template <class H>
bool is_nan(H a) {
  return to_float(a) != to_float(a);
}
template <class H>
H neg(H a) {
  return is_nan(a) ? H{kNan16} : H{static_cast<u16>(a.bits ^ 0x8000)};
}
template <class H>
H abs(H a) {
  return is_nan(a) ? H{kNan16} : H{static_cast<u16>(a.bits & 0x7fff)};
}

template <class H>
H min(H a, H b) {
  const float x = to_float(a), y = to_float(b);
  const H lesser = x < y || (x == y && std::signbit(x)) ? a : b;
  return x != x ? (y != y ? H{kNan16} : b) : y != y ? a : lesser;
}
template <class H>
H max(H a, H b) {
  const float x = to_float(a), y = to_float(b);
  const H greater = x > y || (x == y && !std::signbit(x)) ? a : b;
  return x != x ? (y != y ? H{kNan16} : b) : y != y ? a : greater;
}
template <class H>
H min_nan(H a, H b) {
  return is_nan(a) || is_nan(b) ? H{kNan16} : min(a, b);
}
template <class H>
H max_nan(H a, H b) {
  return is_nan(a) || is_nan(b) ? H{kNan16} : max(a, b);
}
template <class H, H (*f)(H, H)>
H xor_sign(H a, H b) {
  const H magnitude = f(abs(a), abs(b));
  return is_nan(magnitude) ? H{kNan16} : H{static_cast<u16>(magnitude.bits | ((a.bits ^ b.bits) & 0x8000))};
}

Half flush(Half a) { return (a.bits & 0x7c00) == 0 ? Half{static_cast<u16>(a.bits & 0x8000)} : a; }
template <class H>
H saturate(H a) {
  const float x = to_float(a);
  return x > 0.0f ? (x < 1.0f ? a : rounded<H>(1.0f)) : H{0};
}
template <class H>
H relu(H a) {
  return is_nan(a) ? H{kNan16} : to_float(a) > 0.0f ? a : H{0};
}

template <class H, H (*f)(H)>
H ftz1(H a) {
  return flush(f(flush(a)));
}
template <class H, H (*f)(H, H)>
H ftz2(H a, H b) {
  return flush(f(flush(a), flush(b)));
}
// What is below the least normal number before rounding is flushed, even if it rounds to that.
Half flush(Half a, double exact) {
  return std::fabs(exact) < 0x1p-14 ? Half{static_cast<u16>(a.bits & 0x8000)} : a;
}
Half mul_ftz(Half a, Half b) {
  a = flush(a), b = flush(b);
  return flush(mul(a, b), double{to_float(a)} * double{to_float(b)});
}
Half fma_ftz(Half a, Half b, Half c) {
  a = flush(a), b = flush(b), c = flush(c);
  return flush(fma(a, b, c), fma_to_odd(to_float(a), to_float(b), to_float(c)));
}
template <class H, H (*f)(H, H)>
H sat2(H a, H b) {
  return saturate(f(a, b));
}
template <class H, H (*f)(H, H, H)>
H sat3(H a, H b, H c) {
  return saturate(f(a, b, c));
}
template <class H, H (*f)(H, H, H)>
H relu3(H a, H b, H c) {
  return relu(f(a, b, c));
}

/// The upper and the lower half of a packed register.
template <class H>
H high(u32 a) {
  return {static_cast<u16>(a >> 16)};
}
template <class H>
H low(u32 a) {
  return {static_cast<u16>(a)};
}
u32 pack(u16 upper, u16 lower) { return u32{upper} << 16 | lower; }
template <class H, H (*f)(H)>
u32 both1(u32 a) {
  return pack(f(high<H>(a)).bits, f(low<H>(a)).bits);
}
template <class H, H (*f)(H, H)>
u32 both2(u32 a, u32 b) {
  return pack(f(high<H>(a), high<H>(b)).bits, f(low<H>(a), low<H>(b)).bits);
}
template <class H, H (*f)(H, H, H)>
u32 both3(u32 a, u32 b, u32 c) {
  return pack(f(high<H>(a), high<H>(b), high<H>(c)).bits, f(low<H>(a), low<H>(b), low<H>(c)).bits);
}

template <class H, H (*f)(H)>
void add_one(Table& table, const std::string& name, const std::string& type) {
  table.add(lanes<f>(fmt::format("{}.{}", name, type)),
            lanes<both1<H, f>>(fmt::format("{}.{}x2", name, type)));
}
template <class H, H (*f)(H, H)>
void add_two(Table& table, const std::string& name, const std::string& type) {
  table.add(lanes<f>(fmt::format("{}.{}", name, type)),
            lanes<both2<H, f>>(fmt::format("{}.{}x2", name, type)));
}
template <class H, H (*f)(H, H, H)>
void add_three(Table& table, const std::string& name, const std::string& type) {
  table.add(lanes<f>(fmt::format("{}.{}", name, type)),
            lanes<both3<H, f>>(fmt::format("{}.{}x2", name, type)));
}

template <class H, H (*f)(H, H)>
void add_sum(Table& table, const std::string& name, const std::string& type) {
  for (const char* rounding : {"", ".rn"}) {
    add_two<H, f>(table, name + rounding, type);
    add_two<H, sat2<H, f>>(table, name + rounding + ".sat", type);
  }
}
template <Half (*ftz)(Half, Half)>
void add_flushed_sum(Table& table, const std::string& name) {
  for (const char* rounding : {"", ".rn"}) {
    add_two<Half, ftz>(table, name + rounding + ".ftz", "f16");
    add_two<Half, sat2<Half, ftz>>(table, name + rounding + ".ftz.sat", "f16");
  }
}

template <class H>
void add_type(Table& table, const std::string& type) {
  add_sum<H, add<H>>(table, "add", type);
  add_sum<H, sub<H>>(table, "sub", type);
  add_sum<H, mul<H>>(table, "mul", type);
  add_three<H, fma<H>>(table, "fma.rn", type);
  add_three<H, sat3<H, fma<H>>>(table, "fma.rn.sat", type);
  add_three<H, relu3<H, fma<H>>>(table, "fma.rn.relu", type);
  add_one<H, neg<H>>(table, "neg", type);
  add_one<H, abs<H>>(table, "abs", type);
  add_two<H, min<H>>(table, "min", type);
  add_two<H, max<H>>(table, "max", type);
  add_two<H, min_nan<H>>(table, "min.NaN", type);
  add_two<H, max_nan<H>>(table, "max.NaN", type);
  add_two<H, xor_sign<H, min<H>>>(table, "min.xorsign.abs", type);
  add_two<H, xor_sign<H, max<H>>>(table, "max.xorsign.abs", type);
  add_two<H, xor_sign<H, min_nan<H>>>(table, "min.NaN.xorsign.abs", type);
  add_two<H, xor_sign<H, max_nan<H>>>(table, "max.NaN.xorsign.abs", type);
  if constexpr (std::is_same_v<H, Half>) {
    add_flushed_sum<ftz2<H, add<H>>>(table, "add");
    add_flushed_sum<ftz2<H, sub<H>>>(table, "sub");
    add_flushed_sum<mul_ftz>(table, "mul");
    add_three<H, fma_ftz>(table, "fma.rn.ftz", type);
    add_three<H, sat3<H, fma_ftz>>(table, "fma.rn.ftz.sat", type);
    add_three<H, relu3<H, fma_ftz>>(table, "fma.rn.ftz.relu", type);
    add_one<H, ftz1<H, neg<H>>>(table, "neg.ftz", type);
    add_one<H, ftz1<H, abs<H>>>(table, "abs.ftz", type);
    add_two<H, ftz2<H, min<H>>>(table, "min.ftz", type);
    add_two<H, ftz2<H, max<H>>>(table, "max.ftz", type);
    add_two<H, ftz2<H, min_nan<H>>>(table, "min.ftz.NaN", type);
    add_two<H, ftz2<H, max_nan<H>>>(table, "max.ftz.NaN", type);
    add_two<H, ftz2<H, xor_sign<H, min<H>>>>(table, "min.ftz.xorsign.abs", type);
    add_two<H, ftz2<H, xor_sign<H, max<H>>>>(table, "max.ftz.xorsign.abs", type);
    add_two<H, ftz2<H, xor_sign<H, min_nan<H>>>>(table, "min.ftz.NaN.xorsign.abs", type);
    add_two<H, ftz2<H, xor_sign<H, max_nan<H>>>>(table, "max.ftz.NaN.xorsign.abs", type);
  }
}

}  // namespace

void add_half(Table& table) {
  add_type<Half>(table, "f16");
  add_type<Brain>(table, "bf16");
}

}  // namespace pkb::virtual_gpu
