// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/lanes.h"

// f32 and f64 arithmetic rounded to nearest (PTX ISA 9.7.3); rounding.cpp has the other roundings.
namespace pkb::virtual_gpu {
namespace {

template <class T> T add(T a, T b) { return canonical(a + b); }
template <class T> T sub(T a, T b) { return canonical(a - b); }
template <class T> T mul(T a, T b) { return canonical(a * b); }
template <class T> T div(T a, T b) { return canonical(a / b); }
template <class T> T rcp(T a) { return canonical(T{1} / a); }
template <class T> T sqrt(T a) { return canonical(std::sqrt(a)); }
float fma(float a, float b, float c) { return canonical(__builtin_fmaf(a, b, c)); }
double fma(double a, double b, double c) { return canonical(__builtin_fma(a, b, c)); }
template <class T> T fma_of(T a, T b, T c) { return fma(a, b, c); }

// Sign operations keep a NaN's payload: they only touch the sign bit.
template <class T> T neg(T a) { return -a; }
template <class T> T abs(T a) { return std::fabs(a); }
template <class T> T copysign(T a, T b) { return std::copysign(b, a); }

/// -0 is less than +0; a NaN gives the other operand.
template <class T> T min(T a, T b) {
  const T lesser = a < b || (a == b && std::signbit(a)) ? a : b;
  return a != a ? canonical(b) : b != b ? a : lesser;
}
template <class T> T max(T a, T b) {
  const T greater = a > b || (a == b && !std::signbit(a)) ? a : b;
  return a != a ? canonical(b) : b != b ? a : greater;
}
template <class T> T min_nan(T a, T b) { return a != a || b != b ? nan_of<T>() : min(a, b); }
template <class T> T max_nan(T a, T b) { return a != a || b != b ? nan_of<T>() : max(a, b); }
/// The operand of the greater or lesser magnitude decides, with the exclusive or of the signs.
template <class T, T (*f)(T, T)> T xor_sign(T a, T b) {
  const T chosen = f(std::fabs(a), std::fabs(b));
  return std::signbit(a) != std::signbit(b) ? -std::fabs(chosen) : std::fabs(chosen);
}
template <class T, T (*f)(T, T)> T of_three(T a, T b, T c) { return f(f(a, b), c); }

template <class T, int Class> bool testp(T a) {
  constexpr T least = std::numeric_limits<T>::min();
  switch (Class) {
    case 0: return std::isfinite(a);
    case 1: return std::isinf(a);
    case 2: return a == a;
    case 3: return a != a;
    case 4: return std::isfinite(a) && std::fabs(a) >= least;
    default: return a != 0 && std::fabs(a) < least;
  }
}

template <float (*f)(float, float)> float ftz2(float a, float b) { return flush(f(flush(a), flush(b))); }
template <float (*f)(float, float, float)> float ftz3(float a, float b, float c) {
  return flush(f(flush(a), flush(b), flush(c)));
}
template <float (*f)(float)> float ftz1(float a) { return flush(f(flush(a))); }
template <float (*f)(float, float)> float sat2(float a, float b) { return saturate(f(a, b)); }
template <float (*f)(float, float, float)> float sat3(float a, float b, float c) { return saturate(f(a, b, c)); }

template <float (*f)(float, float)> void add_two(Table& table, const std::string& name, bool also_without_rounding) {
  for (const std::string rounding : {"", ".rn"}) {
    if (rounding.empty() && !also_without_rounding) continue;
    table.add(lanes<f>(name + rounding + ".f32"), lanes<ftz2<f>>(name + rounding + ".ftz.f32"),
              lanes<sat2<f>>(name + rounding + ".sat.f32"), lanes<sat2<ftz2<f>>>(name + rounding + ".ftz.sat.f32"));
  }
}

template <class T> void add_tests(Table& table, const std::string& type) {
  table.add(lanes<testp<T, 0>>("testp.finite." + type), lanes<testp<T, 1>>("testp.infinite." + type),
            lanes<testp<T, 2>>("testp.number." + type), lanes<testp<T, 3>>("testp.notanumber." + type),
            lanes<testp<T, 4>>("testp.normal." + type), lanes<testp<T, 5>>("testp.subnormal." + type));
}

template <float (*f)(float, float)> void add_extreme(Table& table, const std::string& name) {
  table.add(lanes<f>(name + ".f32"), lanes<ftz2<f>>(name + ".ftz.f32"));
}

template <float (*f)(float, float)> constexpr Handler kOfThree = LaneWise<&of_three<float, f>, false>::execute;

template <float (*f)(float, float)> void add_extreme_of_three(Table& table, const std::string& name) {
  Entry two = lanes<f>(name + ".f32");
  two.build = [](Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
    const bool three = statement.operands.size() == 4;
    if (!three && statement.operands.size() != 3) throw Unsupported{statement.opcode};
    std::array<std::uint32_t, 3> sources{};
    for (std::size_t i = 1; i < statement.operands.size(); ++i)
      sources[i - 1] = decoder.source(statement.operands[i], Slot::word);
    const std::uint32_t to = decoder.destination(statement.operands[0], Slot::word);
    Instruction& in = decoder.emit(three ? kOfThree<f> : entry.handler);
    in.d = to;
    in.a = sources[0], in.b = sources[1], in.c = sources[2];
  };
  table.add(std::move(two));
}

}  // namespace

void add_float(Table& table) {
  add_two<add<float>>(table, "add", true);
  add_two<sub<float>>(table, "sub", true);
  add_two<mul<float>>(table, "mul", true);
  for (const std::string name : {"fma.rn", "mad.rn"})
    table.add(lanes<fma_of<float>>(name + ".f32"), lanes<ftz3<fma_of<float>>>(name + ".ftz.f32"),
              lanes<sat3<fma_of<float>>>(name + ".sat.f32"), lanes<sat3<ftz3<fma_of<float>>>>(name + ".ftz.sat.f32"),
              lanes<fma_of<double>>(name + ".f64"));
  table.add(lanes<div<float>>("div.rn.f32"), lanes<ftz2<div<float>>>("div.rn.ftz.f32"),
            lanes<rcp<float>>("rcp.rn.f32"), lanes<ftz1<rcp<float>>>("rcp.rn.ftz.f32"),
            lanes<sqrt<float>>("sqrt.rn.f32"), lanes<ftz1<sqrt<float>>>("sqrt.rn.ftz.f32"));
  for (const std::string rounding : {"", ".rn"})
    table.add(lanes<add<double>>("add" + rounding + ".f64"), lanes<sub<double>>("sub" + rounding + ".f64"),
              lanes<mul<double>>("mul" + rounding + ".f64"));
  table.add(lanes<div<double>>("div.rn.f64"), lanes<rcp<double>>("rcp.rn.f64"), lanes<sqrt<double>>("sqrt.rn.f64"));
  table.add(lanes<neg<float>>("neg.f32"), lanes<ftz1<neg<float>>>("neg.ftz.f32"), lanes<neg<double>>("neg.f64"),
            lanes<abs<float>>("abs.f32"), lanes<ftz1<abs<float>>>("abs.ftz.f32"), lanes<abs<double>>("abs.f64"),
            lanes<copysign<float>>("copysign.f32"), lanes<copysign<double>>("copysign.f64"));
  add_extreme_of_three<min<float>>(table, "min");
  add_extreme_of_three<max<float>>(table, "max");
  add_extreme_of_three<min_nan<float>>(table, "min.NaN");
  add_extreme_of_three<max_nan<float>>(table, "max.NaN");
  add_extreme_of_three<ftz2<min<float>>>(table, "min.ftz");
  add_extreme_of_three<ftz2<max<float>>>(table, "max.ftz");
  add_extreme_of_three<ftz2<min_nan<float>>>(table, "min.ftz.NaN");
  add_extreme_of_three<ftz2<max_nan<float>>>(table, "max.ftz.NaN");
  add_extreme<xor_sign<float, min<float>>>(table, "min.xorsign.abs");
  add_extreme<xor_sign<float, max<float>>>(table, "max.xorsign.abs");
  add_extreme<xor_sign<float, min_nan<float>>>(table, "min.NaN.xorsign.abs");
  add_extreme<xor_sign<float, max_nan<float>>>(table, "max.NaN.xorsign.abs");
  table.add(lanes<min<double>>("min.f64"), lanes<max<double>>("max.f64"));
  add_tests<float>(table, "f32");
  add_tests<double>(table, "f64");
}

}  // namespace pkb::virtual_gpu
