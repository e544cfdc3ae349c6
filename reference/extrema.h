// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <type_traits>

#include "reference/scalar.h"

/// Functors that serve elementwise and along dimensions.
namespace pkb::ref {

// a != a: NaN wins, as in PyTorch.
struct Maximum : TakesIntegers {
  template <class F>
  PKB_HD static F identity() {
    if constexpr (std::is_floating_point_v<F>) return -std::numeric_limits<F>::infinity();
    return std::numeric_limits<F>::lowest();
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return a != a || a > b ? a : b;
  }
};
struct Minimum : TakesIntegers {
  template <class F>
  PKB_HD static F identity() {
    if constexpr (std::is_floating_point_v<F>) return std::numeric_limits<F>::infinity();
    return std::numeric_limits<F>::max();
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return a != a || a < b ? a : b;
  }
};

}  // namespace pkb::ref
