// SPDX-License-Identifier: Apache-2.0
#include "harness/roofline/calibrate/spread.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace pkb::roofline {
namespace {

TEST(Spread, HasTheMiddleSampleAndTheExtremes) {
  const Spread odd = spread_of({3, 1, 10});
  EXPECT_EQ(odd.median, 3);
  EXPECT_EQ(odd.low, 1);
  EXPECT_EQ(odd.high, 10);
  EXPECT_EQ(odd.samples, 3);
  EXPECT_EQ(spread_of({4, 1, 2, 9}).median, 3);  // between 2 and 4
  EXPECT_THROW(spread_of({}), std::invalid_argument);
}

TEST(Spread, OfRatesTurnsTimesRound) {
  const Spread rate = map(spread_of({2, 4, 8}), [](double seconds) { return 16 / seconds; });
  EXPECT_EQ(rate.median, 4);
  EXPECT_EQ(rate.low, 2);
  EXPECT_EQ(rate.high, 8);
}

}  // namespace
}  // namespace pkb::roofline
