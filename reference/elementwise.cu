// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/extrema.h"
#include "reference/map.h"
#include "reference/ops.h"

namespace pkb::ref {
namespace {

struct Add : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return static_cast<F>(a + b);
  }
};
struct Subtract : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return static_cast<F>(a - b);
  }
};
struct Multiply : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return static_cast<F>(a * b);
  }
};
struct Divide {
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return static_cast<F>(a / b);
  }
};
struct Negate : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a) const {
    return static_cast<F>(-a);
  }
};
struct Absolute : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a) const {
    if constexpr (std::is_floating_point_v<F>)
      return std::fabs(a);  // clears the sign of -0 and NaN too
    else if constexpr (std::is_signed_v<F>)
      return static_cast<F>(a < 0 ? -a : a);
    else
      return a;
  }
};
struct AddScalar : TakesIntegers {
  double b;
  template <class F>
  PKB_HD F operator()(F a) const {
    return static_cast<F>(a + static_cast<F>(b));
  }
};
struct MultiplyScalar : TakesIntegers {
  double b;
  template <class F>
  PKB_HD F operator()(F a) const {
    return static_cast<F>(a * static_cast<F>(b));
  }
};

}  // namespace

Tensor operator+(const Tensor& a, const Tensor& b) { return map(Add{}, a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return map(Subtract{}, a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return map(Multiply{}, a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return map(Divide{}, a, b); }
Tensor operator+(const Tensor& a, double b) { return map(AddScalar{{}, b}, a); }
Tensor operator*(const Tensor& a, double b) { return map(MultiplyScalar{{}, b}, a); }
Tensor operator-(const Tensor& a) { return map(Negate{}, a); }
Tensor abs(const Tensor& a) { return map(Absolute{}, a); }
Tensor maximum(const Tensor& a, const Tensor& b) { return map(Maximum{}, a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return map(Minimum{}, a, b); }

}  // namespace pkb::ref
