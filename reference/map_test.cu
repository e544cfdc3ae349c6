// SPDX-License-Identifier: Apache-2.0
#include "reference/map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "reference/reduce.h"

// A problem's own operators, as a reference.cu would write them.
namespace pkb::ref {
namespace {

struct Silu {
  template <class F>
  PKB_HD F operator()(F x) const {
    return x / (1 + std::exp(-x));
  }
};

struct Select : TakesIntegers {
  template <class F>
  PKB_HD F operator()(F condition, F yes, F no) const {
    return condition != 0 ? yes : no;
  }
};

struct LargestMagnitude {
  template <class F>
  PKB_HD static F identity() {
    return 0;
  }
  template <class F>
  PKB_HD F operator()(F a, F b) const {
    return (a < 0 ? -a : a) < (b < 0 ? -b : b) ? b : a;
  }
};

TEST(Map, ComputesInFloatForNarrowDTypesAndInDoubleForFp64) {
  const double exact = 1 / (1 + std::exp(-1.0));
  EXPECT_EQ(map(Silu{}, Tensor::full({1}, 1, DType::f64)).values()[0], exact);
  EXPECT_EQ(map(Silu{}, Tensor::full({1}, 1, DType::f32)).values()[0], 1 / (1 + std::exp(-1.0f)));
  // 0.731058... in bf16: between 0.73046875 and 0.734375.
  EXPECT_EQ(map(Silu{}, Tensor::full({1}, 1, DType::bf16)).values()[0], 0.73046875);
  EXPECT_THROW(map(Silu{}, Tensor::full({1}, 1, DType::i32)), DTypeError);
}

TEST(Map, TakesSeveralOperandsAndBroadcasts) {
  const Tensor condition = Tensor::from_values({1, 0}, {2, 1}, DType::i64);
  const Tensor yes = Tensor::from_values({5, 6, 7}, {3}, DType::i64), no = Tensor::full({}, -1, DType::i64);
  EXPECT_EQ(map(Select{}, condition, yes, no).values(), (std::vector<double>{5, 6, 7, -1, -1, -1}));
}

TEST(Map, WritesIntoAView) {
  Tensor out = Tensor::zeros({2, 3}, DType::f32), column = out.select(1, 1);
  map_into(column, Select{}, column, column, Tensor::from_values({4, 5}, {2}, DType::f32));
  EXPECT_EQ(out.values(), (std::vector<double>{0, 4, 0, 0, 5, 0}));
}

TEST(Reduce, TakesAProblemsOwnOperator) {
  const Tensor t = Tensor::from_values({1, -2, -4, 3}, {2, 2}, DType::bf16);
  EXPECT_EQ(reduce(LargestMagnitude{}, t, {.dimensions = {1}}).values(), (std::vector<double>{-2, -4}));
}

}  // namespace
}  // namespace pkb::ref
