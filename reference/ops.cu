// SPDX-License-Identifier: Apache-2.0
#include "reference/ops.h"

#include <cmath>
#include <limits>

#include "reference/map.h"
#include "reference/reduce.h"

namespace pkb::ref {
namespace {

struct Add : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const { return static_cast<F>(a + b); }
};
struct Subtract : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const { return static_cast<F>(a - b); }
};
struct Multiply : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a, F b) const { return static_cast<F>(a * b); }
};
struct Divide {
  template <class F>
  PKB_HD F operator()(F a, F b) const { return static_cast<F>(a / b); }
};
struct Negate : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F a) const { return static_cast<F>(-a); }
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
  PKB_HD F operator()(F a) const { return static_cast<F>(a + static_cast<F>(b)); }
};
struct MultiplyScalar : TakesIntegers {
  double b;
  template <class F>
  PKB_HD F operator()(F a) const { return static_cast<F>(a * static_cast<F>(b)); }
};

// a != a: NaN wins, as in PyTorch.
struct Maximum : TakesIntegers {
  template <class F>
  PKB_HD static F identity() {
    if constexpr (std::is_floating_point_v<F>) return -std::numeric_limits<F>::infinity();
    return std::numeric_limits<F>::lowest();
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const { return a != a || a > b ? a : b; }
};
struct Minimum : TakesIntegers {
  template <class F>
  PKB_HD static F identity() {
    if constexpr (std::is_floating_point_v<F>) return std::numeric_limits<F>::infinity();
    return std::numeric_limits<F>::max();
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const { return a != a || a < b ? a : b; }
};
struct Sum : Add {
  template <class F>
  PKB_HD static F identity() { return 0; }
};

Tensor extremum(const char* name, auto op, const Tensor& a, const ReduceOptions& options) {
  Tensor result = reduce(op, a, options);
  require(a.numel() > 0 || result.numel() == 0, "{}: nothing to choose from in shape {}", name, a.shape());
  return result;
}

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

Tensor sum(const Tensor& a, const ReduceOptions& options) {
  return reduce(Sum{}, info(a.dtype()).floating ? a : a.to(DType::i64), options);
}

Tensor mean(const Tensor& a, const ReduceOptions& options) {
  require<DTypeError>(info(a.dtype()).floating, "mean: takes floating dtypes, not {}", a.dtype());
  // Wider than the dtype in between, so that the result is rounded once.
  const bool narrow = size_of(a.dtype()) < 4;
  const Tensor total = sum(narrow ? a.to(DType::f32) : a, options);
  const double count = static_cast<double>(a.numel()) / static_cast<double>(total.numel());
  return map(Divide{}, total, Tensor::full({}, count, total.dtype(), a.place())).to(a.dtype());
}

Tensor amax(const Tensor& a, const ReduceOptions& options) { return extremum("amax", Maximum{}, a, options); }
Tensor amin(const Tensor& a, const ReduceOptions& options) { return extremum("amin", Minimum{}, a, options); }

}  // namespace pkb::ref
