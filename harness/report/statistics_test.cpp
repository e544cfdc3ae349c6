// SPDX-License-Identifier: Apache-2.0
#include "harness/report/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace pkb::report {
namespace {

TEST(PassAt, IsTheChanceOfASuccessAmongKDrawnWithoutReplacement) {
  EXPECT_NEAR(pass_at(10, 3, 1), 0.3, 1e-12);
  EXPECT_NEAR(pass_at(10, 3, 5), 1 - 21. / 252, 1e-12);  // C(7, 5) of C(10, 5)
  EXPECT_NEAR(pass_at(5, 2, 3), 0.9, 1e-12);
  EXPECT_NEAR(pass_at(200, 13, 100), 0.9999194971988055, 1e-12);
  EXPECT_EQ(pass_at(3, 0, 3), 0);
  EXPECT_EQ(pass_at(3, 1, 3), 1);
}

TEST(PassAt, IsUndefinedForMoreThanThereAre) {
  EXPECT_TRUE(std::isnan(pass_at(3, 0, 5)));
  EXPECT_TRUE(std::isnan(pass_at(3, 3, 5)));
  EXPECT_TRUE(std::isnan(pass_at(0, 0, 1)));
  EXPECT_TRUE(std::isnan(pass_at(3, 3, 0)));
}

/// `ones` ones, then zeros.
std::vector<double> shares(std::size_t ones, std::size_t all) {
  std::vector<double> values(all, 0);
  std::fill_n(values.begin(), ones, 1);
  return values;
}

TEST(Resampling, OfOneStratumFollowsTheBinomialDistribution) {
  // 2.5 % and 97.5 % of Binomial(60, 1/3) are 13 and 27.
  const Estimate mean = Resampling(std::vector<int>(60, 1)).mean(shares(20, 60));
  EXPECT_NEAR(mean.value, 20. / 60, 1e-12);
  EXPECT_NEAR(mean.low, 13. / 60, 1.01 / 60);
  EXPECT_NEAR(mean.high, 27. / 60, 1.01 / 60);
}

TEST(Resampling, DrawsWithinStrata) {
  // 40 that are all solved do not vary; of 20 half are: 2.5 % and 97.5 % of Binomial(20, 1/2) are 6 and 14.
  std::vector<int> strata(60, 1);
  std::fill_n(strata.begin(), 40, 2);
  const Estimate mean = Resampling(strata).mean(shares(50, 60));
  EXPECT_NEAR(mean.low, 46. / 60, 0.5 / 60);
  EXPECT_NEAR(mean.high, 54. / 60, 0.5 / 60);
}

TEST(Resampling, PoolsProblemsThatAreAloneInTheirStratum) {
  std::vector<int> strata(60);
  std::iota(strata.begin(), strata.end(), 0);
  const Estimate mean = Resampling(strata).mean(shares(20, 60));
  EXPECT_NEAR(mean.low, 13. / 60, 1.01 / 60);
  EXPECT_NEAR(mean.high, 27. / 60, 1.01 / 60);
}

TEST(Resampling, GivesTheSameForTheSameSeed) {
  const std::vector<int> strata(87, 0);
  const std::vector<double> values = shares(29, 87);
  EXPECT_EQ(Resampling(strata).mean(values).low, Resampling(strata).mean(values).low);
}

TEST(Resampling, TakesTheMedianOfWhatIsDefined) {
  // Of nine numbers the resampled median is at most 2 in 3.0 % and at most 7 in 97.0 % of all cases.
  std::vector<double> values = {kNone, 9, 1, 5, 3, 7, 2, 8, 4, 6, kNone};
  const Resampling resampling(std::vector<int>(values.size(), 0));
  const Estimate median = resampling.median(values);
  EXPECT_EQ(median.value, 5);
  EXPECT_NEAR(median.low, 2, 1);
  EXPECT_NEAR(median.high, 8, 1);
  values = {4, 1, 3, 2};
  EXPECT_EQ(Resampling(std::vector<int>(4, 0)).median(values).value, 2.5);
}

TEST(Resampling, AveragesLogarithms) {
  const std::vector<double> values = {1.2, 0.8, kNone, 2, 1000};
  const Estimate mean = Resampling(std::vector<int>(5, 0)).geometric_mean(values);
  EXPECT_NEAR(mean.value, 6.619501839293745, 1e-12);
  EXPECT_GE(mean.low, 0.8);
  EXPECT_LE(mean.high, 1000);
}

TEST(Resampling, SaysNothingOfNothing) {
  const Resampling resampling(std::vector<int>(2, 0));
  for (const Estimate& each : {resampling.mean(std::vector<double>{kNone, kNone}),
                               resampling.median(std::vector<double>{kNone, kNone}),
                               resampling.geometric_mean(std::vector<double>{kNone, kNone})})
    EXPECT_TRUE(std::isnan(each.value) && std::isnan(each.low) && std::isnan(each.high));
  const Estimate one = resampling.geometric_mean(std::vector<double>{2, kNone});
  EXPECT_DOUBLE_EQ(one.value, 2);
  EXPECT_TRUE(std::isnan(one.low)) << "one number has no interval";
}

TEST(LeaveOneOut, ShowsWhatOneOutlierDoes) {
  const LeaveOneOut without = leave_one_out(std::vector<double>{1.2, 0.8, kNone, 2, 1000});
  EXPECT_NEAR(without.without_largest, 1.2428930023815434, 1e-12);
  EXPECT_NEAR(without.without_smallest, 13.388659001643388, 1e-12);
  EXPECT_TRUE(std::isnan(leave_one_out(std::vector<double>{3, kNone}).without_largest));
}

}  // namespace
}  // namespace pkb::report
