// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/rounding.h"

// Approximate functions (PTX ISA 9.7.3, 9.7.4). The hardware's errors are not imitated: results are those of
// the host's double functions, rounded, which lie within every documented bound. Special values are exact.
namespace pkb::virtual_gpu {
namespace {

template <double (*f)(double)>
float of_double(float a) {
  return canonical(static_cast<float>(f(a)));
}

double ex2(double a) { return std::exp2(a); }
double lg2(double a) { return std::log2(a); }
double sine(double a) { return std::sin(a); }
double cosine(double a) { return std::cos(a); }
double tangent_h(double a) { return std::tanh(a); }
double root(double a) { return std::sqrt(a); }
double reciprocal(double a) { return 1 / a; }
double reciprocal_root(double a) { return 1 / std::sqrt(a); }

// A divisor beyond 2^126 has a subnormal reciprocal, which the hardware takes for zero.
float div_approx(float a, float b) {
  if (std::fabs(b) > 0x1p126f && std::isfinite(b))
    b = std::copysign(std::numeric_limits<float>::infinity(), b);
  return canonical(a / b);
}
float div_full(float a, float b) { return canonical(a / b); }

template <float (*f)(float)>
float ftz1(float a) {
  return flush(f(flush(a)));
}
template <float (*f)(float, float)>
float ftz2(float a, float b) {
  return flush(f(flush(a), flush(b)));
}

template <class H, float (*f)(float)>
H of_half(H a) {
  return rounded<H>(f(to_float(a)));
}
template <class H, float (*f)(float)>
std::uint32_t of_halves(std::uint32_t a) {
  const H high{static_cast<std::uint16_t>(a >> 16)}, low{static_cast<std::uint16_t>(a)};
  return std::uint32_t{of_half<H, f>(high).bits} << 16 | of_half<H, f>(low).bits;
}

/// The f64 approximations take and give the upper 32 bits only.
template <double (*f)(double)>
double upper_half(double a) {
  constexpr std::uint64_t kUpper = 0xffffffff00000000ull;
  const double flushed = std::fabs(a) < std::numeric_limits<double>::min() ? std::copysign(0.0, a) : a;
  const double result = f(std::bit_cast<double>(std::bit_cast<std::uint64_t>(flushed) & kUpper));
  const double out =
      std::fabs(result) < std::numeric_limits<double>::min() ? std::copysign(0.0, result) : result;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(out) & kUpper);
}
template <double (*f)(double)>
double whole(double a) {
  return f(a);
}

template <double (*f)(double)>
void add_function(Table& table, const std::string& name) {
  table.add(one_by_one<of_double<f>>(name + ".approx.f32"),
            one_by_one<ftz1<of_double<f>>>(name + ".approx.ftz.f32"));
}

template <float (*f)(float)>
void add_halves(Table& table, const std::string& name) {
  table.add(one_by_one<of_half<Half, f>>(name + ".f16"), one_by_one<of_halves<Half, f>>(name + ".f16x2"),
            one_by_one<of_half<Brain, f>>(name + ".bf16"), one_by_one<of_halves<Brain, f>>(name + ".bf16x2"));
}

}  // namespace

void add_approximate(Table& table) {
  add_function<ex2>(table, "ex2");
  add_function<lg2>(table, "lg2");
  add_function<sine>(table, "sin");
  add_function<cosine>(table, "cos");
  add_function<root>(table, "sqrt");
  add_function<reciprocal>(table, "rcp");
  add_function<reciprocal_root>(table, "rsqrt");
  table.add(one_by_one<of_double<tangent_h>>("tanh.approx.f32"));
  add_halves<of_double<tangent_h>>(table, "tanh.approx");
  add_halves<of_double<ex2>>(table, "ex2.approx");
  add_halves<ftz1<of_double<ex2>>>(table, "ex2.approx.ftz");
  table.add(lanes<div_approx>("div.approx.f32"), lanes<ftz2<div_approx>>("div.approx.ftz.f32"),
            lanes<div_full>("div.full.f32"), lanes<ftz2<div_full>>("div.full.ftz.f32"));
  table.add(one_by_one<upper_half<reciprocal>>("rcp.approx.ftz.f64"),
            one_by_one<upper_half<reciprocal_root>>("rsqrt.approx.ftz.f64"),
            one_by_one<whole<reciprocal_root>>("rsqrt.approx.f64"));
}

}  // namespace pkb::virtual_gpu
