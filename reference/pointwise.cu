// SPDX-License-Identifier: Apache-2.0
#include "reference/pointwise.h"

#include <cmath>

#include "reference/map.h"
#include "reference/mixed_map.h"

namespace pkb::ref {
namespace {

// A named functor per function, since nvcc refuses generic host-device lambdas.
#define PKB_UNARY(Name, expression)             \
  struct Name {                                 \
    template <class F>                          \
    PKB_HD F operator()(F a) const {            \
      return static_cast<F>(expression);        \
    }                                           \
  }
PKB_UNARY(Exp, std::exp(a));
PKB_UNARY(Log, std::log(a));
PKB_UNARY(Sqrt, std::sqrt(a));
PKB_UNARY(Rsqrt, F(1) / std::sqrt(a));
PKB_UNARY(Square, a * a);
PKB_UNARY(Floor, std::floor(a));
PKB_UNARY(Ceil, std::ceil(a));
PKB_UNARY(Round, std::nearbyint(a));
PKB_UNARY(Sigmoid, F(1) / (F(1) + std::exp(-a)));
PKB_UNARY(Silu, a / (F(1) + std::exp(-a)));
PKB_UNARY(Relu, a < F(0) ? F(0) : a);
PKB_UNARY(Softplus, a > F(20) ? a : std::log1p(std::exp(a)));
PKB_UNARY(LogSigmoid, (a < F(0) ? a : F(0)) - std::log1p(std::exp(-std::fabs(a))));
#undef PKB_UNARY

struct Power {
  double exponent;
  template <class F>
  PKB_HD F operator()(F a) const {
    return std::pow(a, static_cast<F>(exponent));
  }
};
struct SubtractFrom : TakesIntegers {
  double a;
  template <class F>
  PKB_HD F operator()(F b) const {
    return static_cast<F>(static_cast<F>(a) - b);
  }
};
struct DivideBy {
  double b;
  template <class F>
  PKB_HD F operator()(F a) const {
    return a / static_cast<F>(b);
  }
};
struct FloorDivide {
  std::int64_t b;
  bool remainder;
  template <class F>
  PKB_HD F operator()(F a) const {
    const std::int64_t quotient = a / b, rest = a - quotient * b;
    const bool below = rest != 0 && (rest < 0) != (b < 0);
    return static_cast<F>(remainder ? rest + (below ? b : 0) : quotient - (below ? 1 : 0));
  }
};
struct Clamp : TakesIntegers {
  double low, high;
  template <class F>
  PKB_HD F operator()(F a) const {
    // Compared as they are, so that bounds beyond an integer's range mean no bound.
    if (a < low) return static_cast<F>(low);
    return a > high ? static_cast<F>(high) : a;
  }
};

Tensor divided(const char* what, const Tensor& a, std::int64_t b, bool remainder) {
  require<DTypeError>(a.dtype() == DType::i64 || a.dtype() == DType::i32, "{}: takes int32 or int64, not {}", what,
                      a.dtype());
  require(b != 0, "{}: by 0", what);
  Tensor out = a.empty_like();
  if (a.dtype() == DType::i64)
    map_mixed<std::int64_t, std::int64_t>(out, FloorDivide{b, remainder}, a);
  else
    map_mixed<std::int32_t, std::int32_t>(out, FloorDivide{b, remainder}, a);
  return out;
}

enum class Relation : std::uint8_t { eq, ne, lt, le, gt, ge };

template <class F>
PKB_HD bool holds(Relation relation, F a, F b) {
  switch (relation) {
    case Relation::eq: return a == b;
    case Relation::ne: return a != b;
    case Relation::lt: return a < b;
    case Relation::le: return a <= b;
    case Relation::gt: return a > b;
    case Relation::ge: return a >= b;
  }
  return false;
}

struct Compare {
  Relation relation;
  template <class F>
  PKB_HD std::uint8_t operator()(F a, F b) const {
    return holds(relation, a, b);
  }
};
struct CompareScalar {
  Relation relation;
  double b;
  template <class F>
  PKB_HD std::uint8_t operator()(F a) const {
    return holds(relation, a, static_cast<F>(b));
  }
};

Tensor compare(Relation relation, const Tensor& a, const Tensor& b) {
  require<DTypeError>(a.dtype() == b.dtype(), "comparison: {} and {}; convert one", a.dtype(), b.dtype());
  Tensor out = Tensor::empty(broadcast_shape("comparison", a.shape(), b.shape()), DType::u8, a.place());
  visit_numeric(a.dtype(), "comparison", [&](auto type) {
    using T = typename decltype(type)::type;
    map_mixed<std::uint8_t, T, T>(out, Compare{relation}, a, b);
  });
  return out;
}

Tensor compare(Relation relation, const Tensor& a, double b) {
  Tensor out = Tensor::empty(a.shape(), DType::u8, a.place());
  visit_numeric(a.dtype(), "comparison", [&](auto type) {
    using T = typename decltype(type)::type;
    map_mixed<std::uint8_t, T>(out, CompareScalar{relation, b}, a);
  });
  return out;
}

struct And {
  PKB_HD std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return a && b; }
};
struct Or {
  PKB_HD std::uint8_t operator()(std::uint8_t a, std::uint8_t b) const { return a || b; }
};

template <class Fn>
Tensor combine_masks(const Fn& fn, const Tensor& a, const Tensor& b) {
  require<DTypeError>(a.dtype() == DType::u8 && b.dtype() == DType::u8, "masks are uint8, not {} and {}",
                      a.dtype(), b.dtype());
  Tensor out = Tensor::empty(broadcast_shape("masks", a.shape(), b.shape()), DType::u8, a.place());
  map_mixed<std::uint8_t, std::uint8_t, std::uint8_t>(out, fn, a, b);
  return out;
}

struct Where {
  template <class F>
  PKB_HD F operator()(std::uint8_t mask, F a, F b) const {
    return mask ? a : b;
  }
};
struct Fill {
  double value;
  template <class F>
  PKB_HD F operator()(std::uint8_t mask, F a) const {
    return mask ? static_cast<F>(value) : a;
  }
};

}  // namespace

Tensor operator-(double a, const Tensor& b) { return map(SubtractFrom{{}, a}, b); }
Tensor operator/(const Tensor& a, double b) { return map(DivideBy{b}, a); }

Tensor floor_divide(const Tensor& a, std::int64_t b) { return divided("floor_divide", a, b, false); }
Tensor remainder(const Tensor& a, std::int64_t b) { return divided("remainder", a, b, true); }

Tensor exp(const Tensor& a) { return map(Exp{}, a); }
Tensor log(const Tensor& a) { return map(Log{}, a); }
Tensor sqrt(const Tensor& a) { return map(Sqrt{}, a); }
Tensor rsqrt(const Tensor& a) { return map(Rsqrt{}, a); }
Tensor pow(const Tensor& a, double exponent) { return map(Power{exponent}, a); }
Tensor square(const Tensor& a) { return map(Square{}, a); }
Tensor floor(const Tensor& a) { return map(Floor{}, a); }
Tensor ceil(const Tensor& a) { return map(Ceil{}, a); }
Tensor round(const Tensor& a) { return map(Round{}, a); }
Tensor sigmoid(const Tensor& a) { return map(Sigmoid{}, a); }
Tensor silu(const Tensor& a) { return map(Silu{}, a); }
Tensor relu(const Tensor& a) { return map(Relu{}, a); }
Tensor softplus(const Tensor& a) { return map(Softplus{}, a); }
Tensor logsigmoid(const Tensor& a) { return map(LogSigmoid{}, a); }
Tensor clamp(const Tensor& a, double low, double high) { return map(Clamp{{}, low, high}, a); }

Tensor eq(const Tensor& a, const Tensor& b) { return compare(Relation::eq, a, b); }
Tensor ne(const Tensor& a, const Tensor& b) { return compare(Relation::ne, a, b); }
Tensor lt(const Tensor& a, const Tensor& b) { return compare(Relation::lt, a, b); }
Tensor le(const Tensor& a, const Tensor& b) { return compare(Relation::le, a, b); }
Tensor gt(const Tensor& a, const Tensor& b) { return compare(Relation::gt, a, b); }
Tensor ge(const Tensor& a, const Tensor& b) { return compare(Relation::ge, a, b); }
Tensor eq(const Tensor& a, double b) { return compare(Relation::eq, a, b); }
Tensor ne(const Tensor& a, double b) { return compare(Relation::ne, a, b); }
Tensor lt(const Tensor& a, double b) { return compare(Relation::lt, a, b); }
Tensor le(const Tensor& a, double b) { return compare(Relation::le, a, b); }
Tensor gt(const Tensor& a, double b) { return compare(Relation::gt, a, b); }
Tensor ge(const Tensor& a, double b) { return compare(Relation::ge, a, b); }
Tensor logical_and(const Tensor& a, const Tensor& b) { return combine_masks(And{}, a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return combine_masks(Or{}, a, b); }
Tensor logical_not(const Tensor& a) { return eq(a, 0); }

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) {
  require<DTypeError>(a.dtype() == b.dtype() && mask.dtype() == DType::u8,
                      "where: a {} mask of {} and {}", mask.dtype(), a.dtype(), b.dtype());
  const Shape shape = broadcast_shape("where", mask.shape(), broadcast_shape("where", a.shape(), b.shape()));
  Tensor out = Tensor::empty(shape, a.dtype(), a.place());
  visit_numeric(a.dtype(), "where", [&](auto type) {
    using T = typename decltype(type)::type;
    map_mixed<T, std::uint8_t, T, T>(out, Where{}, mask, a, b);
  });
  return out;
}

Tensor masked_fill(const Tensor& a, const Tensor& mask, double value) {
  require<DTypeError>(mask.dtype() == DType::u8, "masked_fill: a mask of {}", mask.dtype());
  Tensor out = a.empty_like();
  visit_numeric(a.dtype(), "masked_fill", [&](auto type) {
    using T = typename decltype(type)::type;
    map_mixed<T, std::uint8_t, T>(out, Fill{value}, mask, a);
  });
  return out;
}

}  // namespace pkb::ref
