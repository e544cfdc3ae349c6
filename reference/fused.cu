// SPDX-License-Identifier: Apache-2.0
#include "reference/fused.h"

#include "reference/map.h"

namespace pkb::ref {
namespace {

struct Add {
  double alpha;
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return a + static_cast<F>(alpha) * b;
  }
};
struct Addcmul {
  double value;
  template <class F>
  PKB_HD F operator()(F a, F b, F c) const {
    return a + static_cast<F>(value) * b * c;
  }
};
struct Addcdiv {
  double value;
  template <class F>
  PKB_HD F operator()(F a, F b, F c) const {
    return a + static_cast<F>(value) * (b / c);
  }
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b, double alpha) { return map(Add{alpha}, a, b); }
Tensor addcmul(const Tensor& a, const Tensor& b, const Tensor& c, double value) { return map(Addcmul{value}, a, b, c); }
Tensor addcdiv(const Tensor& a, const Tensor& b, const Tensor& c, double value) { return map(Addcdiv{value}, a, b, c); }

}  // namespace pkb::ref
