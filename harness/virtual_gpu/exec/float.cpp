// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/rounding.h"

// f32 and f64 arithmetic rounded to nearest (PTX ISA 9.7.3); rounding.cpp has the other roundings.
namespace pkb::virtual_gpu {
namespace {

template <class T>
T add(T a, T b) {
  return pass_nan(a + b, a, b);
}
template <class T>
T sub(T a, T b) {
  return pass_nan(a - b, a, b);
}
template <class T>
T mul(T a, T b) {
  return pass_nan(a * b, a, b);
}
template <class T>
T div(T a, T b) {
  return pass_nan(a / b, b, a);
}
template <class T>
T rcp(T a) {
  return pass_nan(T{1} / a, a);
}
template <class T>
T sqrt(T a) {
  return pass_nan(std::sqrt(a), a);
}
float fma(float a, float b, float c) { return canonical(__builtin_fmaf(a, b, c)); }
double fma(double a, double b, double c) { return pass_nan(__builtin_fma(a, b, c), a, c, b); }
template <class T>
T fma_of(T a, T b, T c) {
  return fma(a, b, c);
}

// f32 touches the sign bit alone, f64 is an operation that passes NaN on.
float neg(float a) { return -a; }
float abs(float a) { return std::fabs(a); }
double neg(double a) { return pass_nan(-a, a); }
double abs(double a) { return pass_nan(std::fabs(a), a); }
template <class T>
T neg_of(T a) {
  return neg(a);
}
template <class T>
T abs_of(T a) {
  return abs(a);
}
template <class T>
T copysign(T a, T b) {
  return std::copysign(b, a);
}

/// -0 is less than +0; a NaN gives the other operand.
template <class T>
T min(T a, T b) {
  const T lesser = a < b || (a == b && std::signbit(a)) ? a : b;
  return a != a ? pass_nan(b, b) : b != b ? a : lesser;
}
template <class T>
T max(T a, T b) {
  const T greater = a > b || (a == b && !std::signbit(a)) ? a : b;
  return a != a ? pass_nan(b, b) : b != b ? a : greater;
}
template <class T>
T min_nan(T a, T b) {
  return a != a || b != b ? nan_of<T>() : min(a, b);
}
template <class T>
T max_nan(T a, T b) {
  return a != a || b != b ? nan_of<T>() : max(a, b);
}
/// The operand of the greater or lesser magnitude decides, with the exclusive or of the signs.
template <class T, T (*f)(T, T)>
T xor_sign(T a, T b) {
  const T chosen = f(std::fabs(a), std::fabs(b));
  const T magnitude = std::fabs(chosen);  // a NaN stays the NaN that it is
  return std::signbit(a) != std::signbit(b) && magnitude == magnitude ? -magnitude : magnitude;
}
template <class T, T (*f)(T, T)>
T of_three(T a, T b, T c) {
  return f(f(a, b), c);
}

template <class T, int Class>
bool testp(T a) {
  constexpr T least = std::numeric_limits<T>::min();
  switch (Class) {
    case 0:
      return std::isfinite(a);
    case 1:
      return std::isinf(a);
    case 2:
      return a == a;
    case 3:
      return a != a;
    case 4:
      return std::isfinite(a) && (a == 0 || std::fabs(a) >= least);  // the hardware counts zero as normal
    default:
      return a != 0 && std::fabs(a) < least;
  }
}

template <float (*f)(float, float)>
float ftz2(float a, float b) {
  return flush(f(flush(a), flush(b)));
}
// What is below the least normal number before rounding is flushed, even if it rounds to that.
float mul_ftz(float a, float b) {
  a = flush(a), b = flush(b);
  return flush(mul(a, b), double{a} * double{b});
}
float fma_ftz(float a, float b, float c) {
  a = flush(a), b = flush(b), c = flush(c);
  return flush(fma(a, b, c), fma_to_odd(a, b, c));
}
float div_ftz(float a, float b) {
  a = flush(a), b = flush(b);
  return flush(div(a, b), double{a} / double{b});
}
template <float (*f)(float)>
float ftz1(float a) {
  return flush(f(flush(a)));
}
template <float (*f)(float, float)>
float sat2(float a, float b) {
  return saturate(f(a, b));
}
template <float (*f)(float, float, float)>
float sat3(float a, float b, float c) {
  return saturate(f(a, b, c));
}

template <float (*f)(float, float), float (*ftz)(float, float)>
void add_two(Table& table, const std::string& op) {
  for (const char* rounding : {"", ".rn"}) {
    const std::string name = op + rounding;
    table.add(lanes<f>(name + ".f32"), lanes<ftz>(name + ".ftz.f32"), lanes<sat2<f>>(name + ".sat.f32"),
              lanes<sat2<ftz>>(name + ".ftz.sat.f32"));
  }
}

template <class T>
void add_tests(Table& table, const std::string& type) {
  table.add(lanes<testp<T, 0>>("testp.finite." + type), lanes<testp<T, 1>>("testp.infinite." + type),
            lanes<testp<T, 2>>("testp.number." + type), lanes<testp<T, 3>>("testp.notanumber." + type),
            lanes<testp<T, 4>>("testp.normal." + type), lanes<testp<T, 5>>("testp.subnormal." + type));
}

template <float (*f)(float, float)>
void add_extreme(Table& table, const std::string& name) {
  table.add(lanes<f>(name + ".f32"));
  std::string flushed = name;
  flushed.insert(3, ".ftz");  // behind min or max
  table.add(lanes<ftz2<f>>(flushed + ".f32"));
}

template <float (*f)(float, float)>
constexpr Handler kOfThree = LaneWise<&of_three<float, f>, false>::execute;

template <float (*f)(float, float)>
void add_extreme_of_three(Table& table, const std::string& name) {
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
  add_two<add<float>, ftz2<add<float>>>(table, "add");
  add_two<sub<float>, ftz2<sub<float>>>(table, "sub");
  add_two<mul<float>, mul_ftz>(table, "mul");
  for (const std::string name : {"fma.rn", "mad.rn"})
    table.add(lanes<fma_of<float>>(name + ".f32"), lanes<fma_ftz>(name + ".ftz.f32"),
              lanes<sat3<fma_of<float>>>(name + ".sat.f32"), lanes<sat3<fma_ftz>>(name + ".ftz.sat.f32"),
              lanes<fma_of<double>>(name + ".f64"));
  table.add(lanes<div<float>>("div.rn.f32"), lanes<div_ftz>("div.rn.ftz.f32"),
            lanes<rcp<float>>("rcp.rn.f32"), lanes<ftz1<rcp<float>>>("rcp.rn.ftz.f32"),
            lanes<sqrt<float>>("sqrt.rn.f32"), lanes<ftz1<sqrt<float>>>("sqrt.rn.ftz.f32"));
  for (const std::string rounding : {"", ".rn"})
    table.add(lanes<add<double>>("add" + rounding + ".f64"), lanes<sub<double>>("sub" + rounding + ".f64"),
              lanes<mul<double>>("mul" + rounding + ".f64"));
  table.add(lanes<div<double>>("div.rn.f64"), lanes<rcp<double>>("rcp.rn.f64"),
            lanes<sqrt<double>>("sqrt.rn.f64"));
  table.add(lanes<neg_of<float>>("neg.f32"), lanes<ftz1<neg_of<float>>>("neg.ftz.f32"),
            lanes<neg_of<double>>("neg.f64"), lanes<abs_of<float>>("abs.f32"),
            lanes<ftz1<abs_of<float>>>("abs.ftz.f32"), lanes<abs_of<double>>("abs.f64"),
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
