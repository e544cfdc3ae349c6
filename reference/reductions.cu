// SPDX-License-Identifier: Apache-2.0
#include "reference/extrema.h"
#include "reference/ops.h"
#include "reference/reduce.h"

namespace pkb::ref {
namespace {

struct Sum : TakesIntegers {
  template <class F>
  PKB_HD static F identity() {
    return 0;
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return static_cast<F>(a + b);
  }
};

Tensor extremum(const char* name, auto op, const Tensor& a, const ReduceOptions& options) {
  Tensor result = reduce(op, a, options);
  require(a.numel() > 0 || result.numel() == 0, "{}: nothing to choose from in shape {}", name, a.shape());
  return result;
}

}  // namespace

Tensor sum(const Tensor& a, const ReduceOptions& options) {
  return reduce(Sum{}, info(a.dtype()).floating ? a : a.to(DType::i64), options);
}

Tensor mean(const Tensor& a, const ReduceOptions& options) {
  require<DTypeError>(info(a.dtype()).floating, "mean: takes floating dtypes, not {}", a.dtype());
  // Wider than the dtype in between, so that the result is rounded once.
  const bool narrow = size_of(a.dtype()) < 4;
  const Tensor total = sum(narrow ? a.to(DType::f32) : a, options);
  const double count = static_cast<double>(a.numel()) / static_cast<double>(total.numel());
  return (total / Tensor::full({}, count, total.dtype(), a.place())).to(a.dtype());
}

Tensor amax(const Tensor& a, const ReduceOptions& options) { return extremum("amax", Maximum{}, a, options); }
Tensor amin(const Tensor& a, const ReduceOptions& options) { return extremum("amin", Minimum{}, a, options); }

}  // namespace pkb::ref
