// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/probe.h"

#include <bit>
#include <cstdlib>
#include <initializer_list>

#include <fmt/format.h>

namespace pkb::virtual_gpu {
namespace {

using enum Kind;

struct Register {
  const char* prefix;  ///< of the register's name
  const char* load;    ///< from the 64 bits in {1} to {0}
  const char* store;   ///< from {1} to the 64 bits in {0}
};

Register register_of(Kind kind) {
  switch (kind) {
    case pred:
      return {"%p", "and.b64 {1}, {1}, 1; setp.ne.u64 {0}, {1}, 0;", "selp.u64 {0}, 1, 0, {1};"};
    case b16:
    case f16:
    case bf16:
      return {"%h", "cvt.u16.u64 {0}, {1};", "cvt.u64.u16 {0}, {1};"};
    case b32:
    case f16x2:
    case bf16x2:
      return {"%r", "cvt.u32.u64 {0}, {1};", "cvt.u64.u32 {0}, {1};"};
    case f32:
      return {"%f", "cvt.u32.u64 %t, {1}; mov.b32 {0}, %t;", "mov.b32 %t, {1}; cvt.u64.u32 {0}, %t;"};
    case f64:
      return {"%fd", "mov.b64 {0}, {1};", "mov.b64 {0}, {1};"};
    case b64:
    case count:
      break;
  }
  return {"%rd", "mov.b64 {0}, {1};", "mov.b64 {0}, {1};"};
}

const std::vector<std::uint64_t>& specials(Kind kind) {
  static const std::vector<std::uint64_t> word = {
      0,      1,      2,      3,       7,          8,          15,         16,         31,
      32,     33,     63,     64,      65,         127,        128,        255,        256,
      0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  static const std::vector<std::uint64_t> half = {0,    1,    2,      3,      15,     16,     31,    255,
                                                  0x7f, 0x80, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff};
  static const std::vector<std::uint64_t> quad = {0,
                                                  1,
                                                  2,
                                                  3,
                                                  31,
                                                  32,
                                                  63,
                                                  64,
                                                  0x7fffffff,
                                                  0x80000000,
                                                  0xffffffff,
                                                  0x100000000,
                                                  0x7fffffffffffffff,
                                                  0x8000000000000000,
                                                  0x8000000000000001,
                                                  0xfffffffffffffffe,
                                                  0xffffffffffffffff,
                                                  0x4000004000000001,
                                                  0x0020000000000001};
  static const std::vector<std::uint64_t> single = {
      0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000,
      0x80800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x3f000000, 0xbf000000,
      0x3fc00000, 0x40200000, 0x40000000, 0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff,
      0x4f800000, 0x5f000000, 0xdf000000, 0x5f800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
      0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0x477fefff, 0x477ff000,
      0x33000000, 0x33000001, 0x38ffe000, 0x4b000001, 0xcb800001, 0x7e800000, 0x7e800001};
  static const std::vector<std::uint64_t> dbl = {0,
                                                 1ull << 63,
                                                 1,
                                                 0x000fffffffffffff,
                                                 0x0010000000000000,
                                                 0x3ff0000000000000,
                                                 0xbff0000000000000,
                                                 0x3fefffffffffffff,
                                                 0x3ff0000000000001,
                                                 0x3fe0000000000000,
                                                 0xbfe0000000000000,
                                                 0x3ff8000000000000,
                                                 0x4004000000000000,
                                                 0x41dfffffffc00000,
                                                 0x41e0000000000000,
                                                 0xc1e0000000000000,
                                                 0x43e0000000000000,
                                                 0xc3e0000000000000,
                                                 0x43f0000000000000,
                                                 0x7fefffffffffffff,
                                                 0xffefffffffffffff,
                                                 0x7ff0000000000000,
                                                 0xfff0000000000000,
                                                 0x7ff8000000000000,
                                                 0xfff8000000000123,
                                                 0x7ff0000000000001,
                                                 0x7fffffffffffffff,
                                                 0x47efffffe0000000,
                                                 0x47effffff0000000,
                                                 0x36a0000000000000,
                                                 0x3690000000000000,
                                                 0x3690000000000001,
                                                 0x40effc0000000000};
  static const std::vector<std::uint64_t> ieee_half = {
      0,      0x8000, 1,      0x8001, 0x3ff,  0x83ff, 0x400,  0x8400, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x3800,
      0x3e00, 0x4100, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7c01, 0x7fff, 0x5140, 0x2e66};
  static const std::vector<std::uint64_t> brain = {
      0,      0x8000, 1,      0x8001, 0x7f,   0x807f, 0x80,   0x8080, 0x3f80, 0xbf80, 0x3f7f, 0x3f81, 0x3f00,
      0x3fc0, 0x4020, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7fc0, 0xffc0, 0x7f81, 0x7fff, 0x1234, 0x2000, 0x0481};
  static const std::vector<std::uint64_t> bit = {0, 1};
  switch (kind) {
    case pred:
      return bit;
    case b16:
      return half;
    case b32:
      return word;
    case f16:
    case f16x2:
      return ieee_half;
    case bf16:
    case bf16x2:
      return brain;
    case f32:
      return single;
    case f64:
      return dbl;
    case b64:
    case count:
      break;
  }
  return quad;
}

std::uint64_t mix(std::uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Numbers of like magnitude, as well as any bits: sums that cancel and products in range need the former.
std::uint64_t random_value(Kind kind, std::uint64_t seed) {
  const std::uint64_t bits = mix(seed);
  const bool near = (mix(seed + 1) & 3) != 0;
  const auto with_exponent = [&](int fraction, int exponent_bits, int spread) {
    const std::uint64_t bias = (1ull << (exponent_bits - 1)) - 1;
    const std::uint64_t exponent = bias - spread + mix(seed + 2) % (2 * spread + 1);
    return (bits & ((1ull << fraction) - 1)) | exponent << fraction |
           (bits >> 63) << (fraction + exponent_bits);
  };
  switch (kind) {
    case f32:
      return near ? with_exponent(23, 8, 12) : bits & 0xffffffff;
    case f64:
      return near ? with_exponent(52, 11, 20) : bits;
    case f16:
      return near ? with_exponent(10, 5, 5) : bits & 0xffff;
    case bf16:
      return near ? with_exponent(7, 8, 5) : bits & 0xffff;
    case b32:
      return near ? (bits & 0xffffffff) >> (mix(seed + 2) & 31) : bits & 0xffffffff;
    case b64:
      return near ? bits >> (mix(seed + 2) & 63) : bits;
    case b16:
      return bits & 0xffff;
    case pred:
      return bits & 1;
    case f16x2:
    case bf16x2:
    case count:
      break;
  }
  return bits;
}

class Probes {
 public:
  void add(const std::string& opcode, Kind to, std::vector<Kind> from, const std::string& literal = "") {
    x_all.push_back({literal.empty() ? opcode : opcode + literal, opcode, to, std::move(from), literal});
  }
  void all(std::initializer_list<const char*> opcodes, Kind to, const std::vector<Kind>& from) {
    for (const char* opcode : opcodes) add(opcode, to, from);
  }
  std::vector<Probe> take() { return std::move(x_all); }

 private:
  std::vector<Probe> x_all;
};

void integers(Probes& p) {
  struct Type {
    const char* name;
    Kind kind, wide;
    bool sign;
  };
  for (const auto& [t, k, wide, sign] :
       {Type{"u16", b16, b32, false}, Type{"s16", b16, b32, true}, Type{"u32", b32, b64, false},
        Type{"s32", b32, b64, true}, Type{"u64", b64, b64, false}, Type{"s64", b64, b64, true}}) {
    for (const char* op : {"add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max"})
      p.add(fmt::format("{}.{}", op, t), k, {k, k});
    for (const char* op : {"mad.lo", "mad.hi"})
      if (k != b16 || op[4] == 'l') p.add(fmt::format("{}.{}", op, t), k, {k, k, k});
    p.add(fmt::format("sad.{}", t), k, {k, k, k});
    if (sign)
      for (const char* op : {"neg", "abs"}) p.add(fmt::format("{}.{}", op, t), k, {k});
    if (k != b64)
      p.add(fmt::format("mul.wide.{}", t), wide, {k, k}),
          p.add(fmt::format("mad.wide.{}", t), wide, {k, k, wide});
    if (k != b16) {
      p.add(fmt::format("bfe.{}", t), k, {k, b32, b32});
      p.add(fmt::format("bfind.{}", t), b32, {k}), p.add(fmt::format("bfind.shiftamt.{}", t), b32, {k});
    }
    p.add(fmt::format("shr.{}", t), k, {k, b32});
    for (const char* test : {"eq", "ne", "lt", "le", "gt", "ge"})
      p.add(fmt::format("setp.{}.{}", test, t), pred, {k, k});
    p.add(fmt::format("slct.{}.s32", t), k, {k, k, b32}),
        p.add(fmt::format("slct.{}.f32", t), k, {k, k, f32});
  }
  p.all({"add.sat.s32", "sub.sat.s32", "max.relu.s32", "min.relu.s32"}, b32, {b32, b32});
  p.all({"mad.hi.sat.s32",  "mad24.lo.s32",    "mad24.lo.u32",   "mad24.hi.s32",    "mad24.hi.u32",
         "dp4a.u32.u32",    "dp4a.s32.s32",    "dp4a.u32.s32",   "dp4a.s32.u32",    "dp2a.lo.s32.u32",
         "dp2a.hi.u32.s32", "dp2a.lo.s32.s32", "shf.l.wrap.b32", "shf.l.clamp.b32", "shf.r.wrap.b32",
         "shf.r.clamp.b32", "prmt.b32",        "prmt.b32.f4e",   "prmt.b32.b4e",    "prmt.b32.rc8",
         "prmt.b32.ecl",    "prmt.b32.ecr",    "prmt.b32.rc16",  "fns.b32"},
        b32, {b32, b32, b32});
  p.all({"mul24.lo.s32", "mul24.lo.u32", "mul24.hi.s32", "mul24.hi.u32", "bmsk.clamp.b32", "bmsk.wrap.b32",
         "szext.clamp.s32", "szext.wrap.s32", "szext.clamp.u32", "szext.wrap.u32", "add.u16x2", "add.s16x2",
         "min.u16x2", "max.u16x2", "min.s16x2", "max.s16x2"},
        b32, {b32, b32});
  p.all({"popc.b32", "clz.b32", "brev.b32", "not.b32", "cnot.b32"}, b32, {b32});
  p.all({"popc.b64", "clz.b64"}, b32, {b64});
  p.all({"brev.b64", "not.b64", "cnot.b64"}, b64, {b64});
  p.all({"and.b64", "or.b64", "xor.b64"}, b64, {b64, b64});
  p.all({"shl.b64", "shr.b64"}, b64, {b64, b32});
  p.all({"shl.b32", "and.b32", "or.b32", "xor.b32"}, b32, {b32, b32});
  p.all({"shl.b16"}, b16, {b16, b32});
  p.all({"and.b16", "or.b16", "xor.b16"}, b16, {b16, b16});
  p.add("bfi.b32", b32, {b32, b32, b32, b32}), p.add("bfi.b64", b64, {b64, b64, b32, b32});
  for (const char* table : {", 0x1b", ", 0xe8", ", 0x96", ", 0x40"})
    p.add("lop3.b32", b32, {b32, b32, b32}, table);
}

void floats(Probes& p) {
  for (const char* mode : {"rn", "rz", "rm", "rp"}) {
    for (const char* op : {"add", "sub", "mul"}) {
      for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"})
        p.add(fmt::format("{}.{}{}.f32", op, mode, more), f32, {f32, f32});
      p.add(fmt::format("{}.{}.f64", op, mode), f64, {f64, f64});
    }
    for (const char* more : {"", ".ftz", ".sat", ".ftz.sat"})
      p.add(fmt::format("fma.{}{}.f32", mode, more), f32, {f32, f32, f32});
    p.add(fmt::format("fma.{}.f64", mode), f64, {f64, f64, f64});
    for (const char* more : {"", ".ftz"}) {
      p.add(fmt::format("div.{}{}.f32", mode, more), f32, {f32, f32});
      for (const char* op : {"rcp", "sqrt"}) p.add(fmt::format("{}.{}{}.f32", op, mode, more), f32, {f32});
    }
    p.add(fmt::format("div.{}.f64", mode), f64, {f64, f64});
    for (const char* op : {"rcp", "sqrt"}) p.add(fmt::format("{}.{}.f64", op, mode), f64, {f64});
  }
  p.all({"min.f32", "max.f32", "min.NaN.f32", "max.NaN.f32", "min.ftz.f32", "max.ftz.f32", "min.ftz.NaN.f32",
         "max.ftz.NaN.f32", "min.xorsign.abs.f32", "max.xorsign.abs.f32", "min.NaN.xorsign.abs.f32",
         "max.NaN.xorsign.abs.f32", "copysign.f32"},
        f32, {f32, f32});
  p.all({"neg.f32", "abs.f32", "neg.ftz.f32", "abs.ftz.f32"}, f32, {f32});
  p.all({"min.f64", "max.f64", "copysign.f64"}, f64, {f64, f64});
  p.all({"neg.f64", "abs.f64"}, f64, {f64});
  struct Type {
    const char* name;
    Kind kind;
  };
  for (const auto& [t, k] : {Type{"f32", f32}, Type{"f64", f64}})
    for (const char* test : {"finite", "infinite", "number", "notanumber", "normal", "subnormal"})
      p.add(fmt::format("testp.{}.{}", test, t), pred, {k});
  for (const auto& [t, k] : {Type{"f32", f32}, Type{"ftz.f32", f32}, Type{"f64", f64}, Type{"f16", f16},
                             Type{"ftz.f16", f16}, Type{"bf16", bf16}})
    for (const char* test :
         {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"})
      p.add(fmt::format("setp.{}.{}", test, t), pred, {k, k});
  p.all({"set.lt.u32.f32", "set.geu.u32.f32"}, b32, {f32, f32});
  p.all({"set.lt.f32.f32", "set.neu.f32.f32"}, f32, {f32, f32});
  p.all({"set.eq.f16x2.f16x2", "set.ltu.f16x2.f16x2"}, f16x2, {f16x2, f16x2});
  p.all({"set.eq.bf16x2.bf16x2", "set.gtu.bf16x2.bf16x2"}, bf16x2, {bf16x2, bf16x2});
}

void halves(Probes& p) {
  struct Type {
    const char* name;
    Kind kind;
    bool ieee;
  };
  for (const auto& [t, k, ieee] : {Type{"f16", f16, true}, Type{"f16x2", f16x2, true},
                                   Type{"bf16", bf16, false}, Type{"bf16x2", bf16x2, false}}) {
    for (const char* op : {"add", "sub", "mul"}) {
      p.add(fmt::format("{}.{}", op, t), k, {k, k}), p.add(fmt::format("{}.rn.{}", op, t), k, {k, k});
      if (ieee)
        for (const char* more : {"sat", "ftz", "ftz.sat"})
          p.add(fmt::format("{}.{}.{}", op, more, t), k, {k, k});
    }
    for (const char* more : {"", ".relu"}) p.add(fmt::format("fma.rn{}.{}", more, t), k, {k, k, k});
    if (ieee)
      for (const char* more : {".sat", ".ftz", ".ftz.sat", ".ftz.relu"})
        p.add(fmt::format("fma.rn{}.{}", more, t), k, {k, k, k});
    for (const char* op : {"neg", "abs"}) p.add(fmt::format("{}.{}", op, t), k, {k});
    for (const char* op : {"min", "max", "min.NaN", "max.NaN", "min.xorsign.abs", "max.xorsign.abs"})
      p.add(fmt::format("{}.{}", op, t), k, {k, k});
  }
}

void conversions(Probes& p) {
  struct Integer {
    const char* name;
    Kind kind;
  };
  const Integer integers[] = {{"u8", b16},  {"s8", b16},  {"u16", b16}, {"s16", b16},
                              {"u32", b32}, {"s32", b32}, {"u64", b64}, {"s64", b64}};
  const Integer floats[] = {{"f16", f16}, {"f32", f32}, {"f64", f64}};
  for (const auto& [to, to_kind] : integers) {
    for (const auto& [from, from_kind] : integers) {
      p.add(fmt::format("cvt.{}.{}", to, from), to_kind, {from_kind});
      // .sat is legal where a value may lie outside the range.
      const int to_bits = std::atoi(to + 1) - (to[0] == 's'),
                from_bits = std::atoi(from + 1) - (from[0] == 's');
      if (from_bits > to_bits || (from[0] == 's' && to[0] == 'u'))
        p.add(fmt::format("cvt.sat.{}.{}", to, from), to_kind, {from_kind});
    }
    for (const auto& [from, from_kind] : floats)
      for (const char* mode : {"rni", "rzi", "rmi", "rpi"})
        p.add(fmt::format("cvt.{}.{}.{}", mode, to, from), to_kind, {from_kind});
    for (const auto& [from, from_kind] : floats)
      for (const char* mode : {"rn", "rz", "rm", "rp"})
        p.add(fmt::format("cvt.{}.{}.{}", mode, from, to), from_kind, {to_kind});
    for (const char* mode : {"rni", "rzi"}) p.add(fmt::format("cvt.{}.ftz.{}.f32", mode, to), to_kind, {f32});
  }
  for (const char* mode : {"rni", "rzi", "rmi", "rpi"}) {
    for (const auto& [t, k] : floats) p.add(fmt::format("cvt.{}.{}.{}", mode, t, t), k, {k});
    for (const auto& [to, k] : integers)
      if (to[0] == 's' && to[1] != '8') p.add(fmt::format("cvt.{}.{}.bf16", mode, to), k, {bf16});
  }
  for (const char* mode : {"rn", "rz", "rm", "rp"}) {
    p.add(fmt::format("cvt.{}.f32.f64", mode), f32, {f64}),
        p.add(fmt::format("cvt.{}.ftz.f32.f64", mode), f32, {f64});
    p.add(fmt::format("cvt.{}.f16.f64", mode), f16, {f64}),
        p.add(fmt::format("cvt.{}.f16.f32", mode), f16, {f32});
    for (const char* from : {"u32", "s32", "u64", "s64"})
      p.add(fmt::format("cvt.{}.bf16.{}", mode, from), bf16, {from[1] == '6' ? b64 : b32});
  }
  p.all({"cvt.f64.f32", "cvt.ftz.f64.f32"}, f64, {f32});
  p.all({"cvt.f32.f16", "cvt.ftz.f32.f16"}, f32, {f16});
  p.all({"cvt.f32.bf16"}, f32, {bf16});
  p.all({"cvt.f64.f16"}, f64, {f16});
  p.all({"cvt.sat.f32.f32", "cvt.ftz.f32.f32", "cvt.ftz.sat.f32.f32", "cvt.f32.f32"}, f32, {f32});
  p.all({"cvt.rn.bf16.f32", "cvt.rz.bf16.f32", "cvt.rn.relu.bf16.f32"}, bf16, {f32});
  p.all({"cvt.rn.relu.f16.f32"}, f16, {f32});
  p.all({"cvt.rn.f16x2.f32", "cvt.rz.f16x2.f32", "cvt.rn.relu.f16x2.f32"}, f16x2, {f32, f32});
  p.all({"cvt.rn.bf16x2.f32", "cvt.rz.bf16x2.f32", "cvt.rn.relu.bf16x2.f32"}, bf16x2, {f32, f32});
  p.all({"cvt.rna.tf32.f32", "cvt.rna.satfinite.tf32.f32", "cvt.rn.tf32.f32", "cvt.rn.relu.tf32.f32",
         "cvt.rz.tf32.f32", "cvt.rz.relu.tf32.f32"},
        b32, {f32});
}

void narrow_conversions(Probes& p) {
  struct Type {
    const char* name;
    Kind one, two;
  };
  for (const auto& [t, one, two] : {Type{"f16", f16, f16x2}, Type{"bf16", bf16, bf16x2}})
    for (const char* more : {"rn.satfinite", "rn.satfinite.relu", "rz.relu", "rz.satfinite", "rz.satfinite.relu"}) {
      p.add(fmt::format("cvt.{}.{}.f32", more, t), one, {f32});
      p.add(fmt::format("cvt.{}.{}x2.f32", more, t), two, {f32, f32});
    }
  for (const char* t : {"e4m3x2", "e5m2x2"}) {
    for (const char* more : {"", ".relu"}) {
      p.add(fmt::format("cvt.rn.satfinite{}.{}.f32", more, t), b16, {f32, f32});
      p.add(fmt::format("cvt.rn.satfinite{}.{}.f16x2", more, t), b16, {f16x2});
      p.add(fmt::format("cvt.rn{}.f16x2.{}", more, t), f16x2, {b16});
    }
  }
  for (const char* t : {"u16", "s16"}) p.add(fmt::format("cvt.pack.sat.{}.s32", t), b32, {b32, b32});
  for (const char* t : {"u8", "s8", "u4", "s4", "u2", "s2"})
    p.add(fmt::format("cvt.pack.sat.{}.s32.b32", t), b32, {b32, b32, b32});
}

void extremes(Probes& p) {
  struct Type {
    const char* name;
    Kind kind;
    bool flushes;
  };
  for (const auto& [t, k, flushes] : {Type{"f16", f16, true}, Type{"f16x2", f16x2, true},
                                      Type{"bf16", bf16, false}, Type{"bf16x2", bf16x2, false}})
    for (const char* op : {"min", "max"}) {
      p.add(fmt::format("{}.NaN.xorsign.abs.{}", op, t), k, {k, k});
      if (flushes)
        for (const char* more : {"ftz.xorsign.abs", "ftz.NaN.xorsign.abs"})
          p.add(fmt::format("{}.{}.{}", op, more, t), k, {k, k});
    }
  p.all({"min.ftz.xorsign.abs.f32", "max.ftz.xorsign.abs.f32", "min.ftz.NaN.xorsign.abs.f32",
         "max.ftz.NaN.xorsign.abs.f32"},
        f32, {f32, f32});
}

}  // namespace

std::vector<Probe> probes() {
  Probes all;
  integers(all);
  floats(all);
  halves(all);
  conversions(all);
  narrow_conversions(all);
  extremes(all);
  return all.take();
}

std::vector<std::uint64_t> probe_inputs(Kind kind, int which) {
  std::vector<std::uint64_t> values(kProbeInputs);
  const auto& special = specials(kind);
  const bool packed = kind == f16x2 || kind == bf16x2;
  const Kind element = kind == f16x2 ? f16 : kind == bf16x2 ? bf16 : kind;
  for (std::uint64_t i = 0; i < kProbeInputs; ++i) {
    const auto value = [&](std::uint64_t n, std::uint64_t salt) {
      // Half of the inputs take every pair of special values in turn, the operands after the second any.
      if (i >= kProbeInputs / 2)
        return random_value(element, mix(4 * n + static_cast<std::uint64_t>(which)) + salt);
      const std::uint64_t at = which == 0   ? n / special.size()
                               : which == 1 ? n
                                            : mix(n * 4 + static_cast<std::uint64_t>(which)) >> 8;
      return special[at % special.size()];
    };
    values[i] = packed ? value(i, 0) | value(i * 5 + 3, 99) << 16 : value(i, 0);
  }
  return values;
}

std::string probe_module(const std::vector<Probe>& all) {
  std::string text = ".version 8.8\n.target sm_90a\n.address_size 64\n";
  for (std::size_t n = 0; n < all.size(); ++n) {
    const Probe& probe = all[n];
    text += fmt::format(
        ".visible .entry k{}(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c, .param .u64 "
        "d)\n{{\n"
        ".reg .pred %p<6>; .reg .b16 %h<6>; .reg .b32 %r<6>; .reg .b32 %t, %i, %j, %k; .reg .f32 %f<6>; .reg "
        ".b64 %rd<6>; "
        ".reg .f64 %fd<6>; .reg .b64 %q, %at, %x;\n"
        "mov.u32 %i, %ctaid.x; mov.u32 %j, %tid.x; mad.lo.u32 %k, %i, 128, %j; mul.wide.u32 %at, %k, 8;\n",
        n);
    std::string operands;
    for (std::size_t i = 0; i < probe.from.size(); ++i) {
      const Register reg = register_of(probe.from[i]);
      const std::string name = fmt::format("{}{}", reg.prefix, i + 1);
      text +=
          fmt::format("ld.param.u64 %q, [{}]; add.s64 %q, %q, %at; ld.global.u64 %x, [%q]; ", char('a' + i));
      text += fmt::format(fmt::runtime(reg.load), name, "%x") + "\n";
      operands += ", " + name;
    }
    const Register to = register_of(probe.to);
    const std::string result = fmt::format("{}0", to.prefix);
    text += fmt::format("{} {}{}{};\n", probe.opcode, result, operands, probe.literal);
    text += fmt::format(fmt::runtime(to.store), "%x", result);
    text += " ld.param.u64 %q, [out]; add.s64 %q, %q, %at; st.global.u64 [%q], %x; ret;\n}\n";
  }
  return text;
}

std::uint64_t digest(const std::vector<std::uint64_t>& results) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::uint64_t value : results)
    for (int i = 0; i < 64; i += 8) hash = (hash ^ (value >> i & 0xff)) * 0x100000001b3;
  return hash;
}

}  // namespace pkb::virtual_gpu
