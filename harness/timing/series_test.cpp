// SPDX-License-Identifier: Apache-2.0
#include "harness/timing/series.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

namespace pkb::timing {
namespace {

std::vector<double> normal(std::size_t count, double mean, double stddev, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> distribution(mean, stddev);
  std::vector<double> samples(count);
  for (double& each : samples) each = distribution(random);
  return samples;
}

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(MedianInterval, CoversTheTrueMedianAsOftenAsItSays) {
  int covered = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    const Interval interval = median_interval(normal(40, 10, 1, 2 * i), 2 * i + 1);
    covered += interval.low <= 10 && 10 <= interval.high;
  }
  // 95 % of 200, give or take three standard deviations of a binomial and the bootstrap's own optimism.
  EXPECT_GE(covered, 176);
  EXPECT_LT(covered, 200);
}

TEST(MedianInterval, NarrowsAsTheRootOfTheCount) {
  const double few = median_interval(normal(100, 10, 1, 1), 2).relative_width();
  const double many = median_interval(normal(6400, 10, 1, 3), 4).relative_width();
  EXPECT_NEAR(few / many, 8, 4);
}

TEST(RatioInterval, LeavesOutWhatBothOfAPairShare) {
  // Both contestants slow down together by up to a half, as under a drifting clock, and differ by exactly two.
  std::vector<double> slow, fast;
  for (const double factor : normal(60, 1, 0.15, 5)) {
    fast.push_back(factor);
    slow.push_back(2 * factor);
  }
  const Interval interval = ratio_interval(slow, fast, 6);
  EXPECT_DOUBLE_EQ(interval.low, 2);
  EXPECT_DOUBLE_EQ(interval.high, 2);
}

TEST(IsDrifting, ComparesTheLastTwoWindows) {
  EXPECT_TRUE(is_drifting(std::vector<double>{1, 1, 1}, 2, 0.1));
  EXPECT_FALSE(is_drifting(std::vector<double>{9, 1, 1, 1, 1}, 2, 0.1));
  EXPECT_TRUE(is_drifting(std::vector<double>{1, 1, 1.2, 1.2}, 2, 0.1));
}

TEST(IsBimodal, SeesTwoGroupsOnly) {
  std::vector<double> two = normal(30, 1, 0.002, 7);
  for (const double each : normal(20, 1.1, 0.002, 8)) two.push_back(each);
  EXPECT_TRUE(is_bimodal(two));
  EXPECT_FALSE(is_bimodal(normal(50, 1, 0.05, 9)));
  std::vector<double> outliers = normal(50, 1, 0.002, 10);
  outliers.push_back(1.5);
  outliers.push_back(1.6);
  EXPECT_FALSE(is_bimodal(outliers));
  EXPECT_FALSE(is_bimodal({}));
  EXPECT_FALSE(is_bimodal(std::vector<double>(20, 1.0)));
}

}  // namespace
}  // namespace pkb::timing
