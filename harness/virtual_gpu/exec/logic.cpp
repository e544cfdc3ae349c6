// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>

#include "harness/virtual_gpu/exec/lanes.h"

// Logic, shifts and byte permutations (PTX ISA 9.7.8, 9.7.9.7).
namespace pkb::virtual_gpu {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
T and_(T a, T b) {
  return static_cast<T>(a & b);
}
template <class T>
T or_(T a, T b) {
  return static_cast<T>(a | b);
}
template <class T>
T xor_(T a, T b) {
  return static_cast<T>(a ^ b);
}
template <class T>
T not_(T a) {
  if constexpr (std::is_same_v<T, bool>)
    return !a;
  else
    return static_cast<T>(~a);
}
template <class T>
T cnot(T a) {
  return a == 0 ? T{1} : T{0};
}

/// Shift amounts past the width shift everything out.
template <class T>
T shl(T a, u32 b) {
  constexpr u32 bits = 8 * sizeof(T);
  return b >= bits ? T{0} : static_cast<T>(a << b);
}
template <class T>
T shr(T a, u32 b) {
  constexpr u32 bits = 8 * sizeof(T);
  const u32 amount = b >= bits ? bits - 1 : b;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> amount);
  else
    return b >= bits ? T{0} : static_cast<T>(a >> amount);
}

/// Funnel shifts of b:a.
template <bool Wrap>
u32 funnel_left(u32 a, u32 b, u32 c) {
  const u32 n = Wrap ? c & 31 : c > 32 ? 32 : c;
  return static_cast<u32>((u64{b} << 32 | a) << n >> 32);
}
template <bool Wrap>
u32 funnel_right(u32 a, u32 b, u32 c) {
  const u32 n = Wrap ? c & 31 : c > 32 ? 32 : c;
  return static_cast<u32>((u64{b} << 32 | a) >> n);
}

/// One bit of the table for each combination of a, b, c.
u32 lop3(u32 a, u32 b, u32 c, u32 table) {
  u32 result = 0;
  for (u32 i = 0; i < 8; ++i) {
    const u32 chosen = table >> i & 1 ? ~0u : 0u;
    result |= chosen & ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

u32 byte_of(u64 bytes, u32 index) { return static_cast<u32>(bytes >> 8 * (index & 7)) & 0xff; }

/// Default mode: four selectors of 4 bits, whose top bit replicates the sign of the byte.
u32 prmt(u32 a, u32 b, u32 c) {
  const u64 bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 selector = c >> 4 * i & 0xf;
    u32 byte = byte_of(bytes, selector);
    if ((selector & 8) != 0) byte = (byte & 0x80) != 0 ? 0xff : 0;
    result |= byte << 8 * i;
  }
  return result;
}

enum class Permute { f4e, b4e, rc8, ecl, ecr, rc16 };
template <Permute mode>
u32 prmt_mode(u32 a, u32 b, u32 c) {
  const u64 bytes = u64{b} << 32 | a;
  const u32 n = c & 3;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    u32 index = 0;
    if constexpr (mode == Permute::f4e) index = n + i;
    if constexpr (mode == Permute::b4e) index = n - i;  // modulo 8
    if constexpr (mode == Permute::rc8) index = n;
    if constexpr (mode == Permute::ecl) index = i < n ? n : i;
    if constexpr (mode == Permute::ecr) index = i < n ? i : n;
    if constexpr (mode == Permute::rc16) index = 2 * (n & 1) + (i & 1);
    result |= byte_of(bytes, index) << 8 * i;
  }
  return result;
}

bool any_or(u32 a, bool b) { return a != 0 || b; }
bool any_and(u32 a, bool b) { return a != 0 && b; }

// lop3.boolOp.b32 d|p, a, b, c, table, q: p is whether d has a bit, combined with q.
template <bool (*f)(u32, bool)>
void build_lop3(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const auto& operands = statement.operands;
  if (operands.size() != 6 || operands[0].kind != ptx::Operand::Kind::pair) throw Unsupported{statement.opcode};
  std::array<std::uint32_t, 4> sources;
  for (std::size_t i = 0; i < 4; ++i) sources[i] = decoder.source(operands[i + 1], Slot::word);
  const std::uint32_t q = decoder.source(operands[5], Slot::predicate);
  const std::uint32_t d = decoder.destination(operands[0].elements[0], Slot::word),
                      p = decoder.destination(operands[0].elements[1], Slot::predicate);
  Instruction& value = decoder.emit(LaneWise<lop3, false>::execute);
  value.d = d;
  value.a = sources[0], value.b = sources[1], value.c = sources[2], value.e = sources[3];
  Instruction& any = decoder.emit(LaneWise<f, false>::execute);
  any.d = p;
  any.a = d, any.b = q;
}

template <class T>
void add_type(Table& table, const std::string& type) {
  table.add(lanes<and_<T>>("and." + type), lanes<or_<T>>("or." + type), lanes<xor_<T>>("xor." + type),
            lanes<not_<T>>("not." + type));
}
template <class T, class Signed>
void add_shifts(Table& table, const std::string& width) {
  table.add(lanes<shl<T>>("shl.b" + width), lanes<shr<T>>("shr.b" + width), lanes<shr<T>>("shr.u" + width),
            lanes<shr<Signed>>("shr.s" + width), lanes<cnot<T>>("cnot.b" + width));
}

}  // namespace

void add_logic(Table& table) {
  add_type<bool>(table, "pred");
  add_type<u16>(table, "b16");
  add_type<u32>(table, "b32");
  add_type<u64>(table, "b64");
  add_shifts<u16, std::int16_t>(table, "16");
  add_shifts<u32, std::int32_t>(table, "32");
  add_shifts<u64, std::int64_t>(table, "64");
  table.add(lanes<funnel_left<true>>("shf.l.wrap.b32"), lanes<funnel_left<false>>("shf.l.clamp.b32"),
            lanes<funnel_right<true>>("shf.r.wrap.b32"), lanes<funnel_right<false>>("shf.r.clamp.b32"));
  table.add(lanes<lop3>("lop3.b32"), lanes<prmt>("prmt.b32"), lanes<prmt_mode<Permute::f4e>>("prmt.b32.f4e"),
            lanes<prmt_mode<Permute::b4e>>("prmt.b32.b4e"), lanes<prmt_mode<Permute::rc8>>("prmt.b32.rc8"),
            lanes<prmt_mode<Permute::ecl>>("prmt.b32.ecl"), lanes<prmt_mode<Permute::ecr>>("prmt.b32.ecr"),
            lanes<prmt_mode<Permute::rc16>>("prmt.b32.rc16"));
  table.add({"lop3.or.b32", nullptr, {}, build_lop3<any_or>}, {"lop3.and.b32", nullptr, {}, build_lop3<any_and>});
}

}  // namespace pkb::virtual_gpu
