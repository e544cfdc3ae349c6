// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/rounding.h"

#include <array>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <string>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/lanes.h"

// f32 and f64 arithmetic rounded towards zero, down and up (PTX ISA 9.7.3).
namespace pkb::virtual_gpu {
namespace {

/// A sum that is exactly zero is -0 when rounding down, unless both terms are +0.
template <Rounding r>
float finish_sum(double sum, double a, double b) {
  if (sum == 0 && r == Rounding::down && (std::signbit(a) || std::signbit(b))) return -0.0f;
  return canonical(to_float(sum, r));
}
template <Rounding r>
float add(float a, float b) {
  return finish_sum<r>(add_to_odd(a, b), a, b);
}
template <Rounding r>
float sub(float a, float b) {
  return add<r>(a, -b);
}
template <Rounding r>
float mul(float a, float b) {
  return canonical(to_float(double{a} * double{b}, r));
}
template <Rounding r>
float fma(float a, float b, float c) {
  const double product = double{a} * double{b};
  return finish_sum<r>(add_to_odd(product, c), product, c);
}
template <Rounding r>
float div(float a, float b) {
  return canonical(to_float(div_to_odd(a, b), r));
}
template <Rounding r>
float rcp(float a) {
  return div<r>(1.0f, a);
}
template <Rounding r>
float sqrt(float a) {
  return canonical(to_float(sqrt_to_odd(a), r));
}

template <float (*f)(float)>
float ftz1(float a) {
  return flush(f(flush(a)));
}
template <float (*f)(float, float)>
float ftz2(float a, float b) {
  return flush(f(flush(a), flush(b)));
}
// What is below the least normal number before rounding is flushed, even if it rounds to that.
template <Rounding r>
float mul_ftz(float a, float b) {
  a = flush(a), b = flush(b);
  return flush(mul<r>(a, b), double{a} * double{b});
}
template <Rounding r>
float fma_ftz(float a, float b, float c) {
  a = flush(a), b = flush(b), c = flush(c);
  return flush(fma<r>(a, b, c), fma_to_odd(a, b, c));
}
template <Rounding r>
float div_ftz(float a, float b) {
  a = flush(a), b = flush(b);
  return flush(div<r>(a, b), div_to_odd(a, b));
}
template <float (*f)(float, float)>
float sat2(float a, float b) {
  return saturate(f(a, b));
}
template <float (*f)(float, float, float)>
float sat3(float a, float b, float c) {
  return saturate(f(a, b, c));
}

/// No wider type helps with f64: the host rounds. `volatile` keeps the operation between the changes of mode.
template <Rounding r, class Operation>
double rounded_by_host(Operation operation) {
  constexpr int mode = r == Rounding::zero ? FE_TOWARDZERO : r == Rounding::down ? FE_DOWNWARD : FE_UPWARD;
  std::fesetround(mode);
  const volatile double result = operation();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <Rounding r>
double add64(double a, double b) {
  const volatile double x = a, y = b;
  return pass_nan(rounded_by_host<r>([&] { return x + y; }), a, b);
}
template <Rounding r>
double sub64(double a, double b) {
  const volatile double x = a, y = b;
  return pass_nan(rounded_by_host<r>([&] { return x - y; }), a, b);
}
template <Rounding r>
double mul64(double a, double b) {
  const volatile double x = a, y = b;
  return pass_nan(rounded_by_host<r>([&] { return x * y; }), a, b);
}
template <Rounding r>
double div64(double a, double b) {
  const volatile double x = a, y = b;
  return pass_nan(rounded_by_host<r>([&] { return x / y; }), b, a);
}
template <Rounding r>
double rcp64(double a) {
  return div64<r>(1.0, a);
}
template <Rounding r>
double fma64(double a, double b, double c) {
  const volatile double x = a, y = b, z = c;
  return pass_nan(rounded_by_host<r>([&] { return __builtin_fma(x, y, z); }), a, c, b);
}
template <Rounding r>
double sqrt64(double a) {
  const volatile double x = a;
  return pass_nan(rounded_by_host<r>([&] { return __builtin_sqrt(x); }), a);
}

template <float (*f)(float, float), float (*ftz)(float, float)>
void add_two(Table& table, const std::string& name) {
  table.add(one_by_one<f>(name + ".f32"), one_by_one<ftz>(name + ".ftz.f32"),
            one_by_one<sat2<f>>(name + ".sat.f32"), one_by_one<sat2<ftz>>(name + ".ftz.sat.f32"));
}

template <Rounding r>
void add_rounding_mode(Table& table, const std::string& mode) {
  add_two<add<r>, ftz2<add<r>>>(table, "add." + mode);
  add_two<sub<r>, ftz2<sub<r>>>(table, "sub." + mode);
  add_two<mul<r>, mul_ftz<r>>(table, "mul." + mode);
  for (const std::string& name : {"fma." + mode, "mad." + mode})
    table.add(one_by_one<fma<r>>(name + ".f32"), one_by_one<fma_ftz<r>>(name + ".ftz.f32"),
              one_by_one<sat3<fma<r>>>(name + ".sat.f32"),
              one_by_one<sat3<fma_ftz<r>>>(name + ".ftz.sat.f32"), one_by_one<fma64<r>>(name + ".f64"));
  table.add(one_by_one<div<r>>("div." + mode + ".f32"), one_by_one<div_ftz<r>>("div." + mode + ".ftz.f32"),
            one_by_one<rcp<r>>("rcp." + mode + ".f32"), one_by_one<ftz1<rcp<r>>>("rcp." + mode + ".ftz.f32"),
            one_by_one<sqrt<r>>("sqrt." + mode + ".f32"),
            one_by_one<ftz1<sqrt<r>>>("sqrt." + mode + ".ftz.f32"));
  table.add(one_by_one<add64<r>>("add." + mode + ".f64"), one_by_one<sub64<r>>("sub." + mode + ".f64"),
            one_by_one<mul64<r>>("mul." + mode + ".f64"), one_by_one<div64<r>>("div." + mode + ".f64"),
            one_by_one<rcp64<r>>("rcp." + mode + ".f64"), one_by_one<sqrt64<r>>("sqrt." + mode + ".f64"));
}

}  // namespace

void add_rounding(Table& table) {
  add_rounding_mode<Rounding::zero>(table, "rz");
  add_rounding_mode<Rounding::down>(table, "rm");
  add_rounding_mode<Rounding::up>(table, "rp");
}

}  // namespace pkb::virtual_gpu
