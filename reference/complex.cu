// SPDX-License-Identifier: Apache-2.0
#include "reference/fft.h"
#include "reference/map.h"

namespace pkb::ref {
namespace {

struct RealPart {
  template <class F>
  PKB_HD F operator()(F a, F b, F c, F d) const {
    return a * c - b * d;
  }
};
struct ImaginaryPart {
  template <class F>
  PKB_HD F operator()(F a, F b, F c, F d) const {
    return a * d + b * c;
  }
};

}  // namespace

Tensor complex_multiply(const Tensor& a, const Tensor& b) {
  require(a.dim() > 0 && b.dim() > 0 && a.size(-1) == 2 && b.size(-1) == 2,
          "complex_multiply: {} and {} are not (..., 2)", a.shape(), b.shape());
  const Tensor out = Tensor::empty(broadcast_shape("complex_multiply", a.shape(), b.shape()), a.dtype(), a.place());
  Tensor real = out.select(-1, 0), imaginary = out.select(-1, 1);
  map_into(real, RealPart{}, a.select(-1, 0), a.select(-1, 1), b.select(-1, 0), b.select(-1, 1));
  map_into(imaginary, ImaginaryPart{}, a.select(-1, 0), a.select(-1, 1), b.select(-1, 0), b.select(-1, 1));
  return out;
}

}  // namespace pkb::ref
