// SPDX-License-Identifier: Apache-2.0
#include "harness/model/retry.h"

#include <gtest/gtest.h>

namespace pkb::model {
namespace {

/// 2026-12-01 12:00:00 UTC.
const auto kNow = std::chrono::system_clock::from_time_t(1796126400);

struct Wish {
  const char* name;
  Headers headers;
  std::optional<double> seconds;
};
class RequestedWait : public testing::TestWithParam<Wish> {};

TEST_P(RequestedWait, IsWhatTheServerMeans) {
  const std::optional<Seconds> wait = requested_wait(GetParam().headers, kNow);
  ASSERT_EQ(wait.has_value(), GetParam().seconds.has_value());
  if (wait) { EXPECT_NEAR(wait->count(), *GetParam().seconds, 1e-9); }
}

INSTANTIATE_TEST_SUITE_P(
    Headers, RequestedWait,
    testing::Values(
        Wish{"Seconds", {{"retry-after", "2"}}, 2}, Wish{"Fraction", {{"retry-after", " 1.5 "}}, 1.5},
        Wish{"DateAhead", {{"retry-after", "Tue, 01 Dec 2026 12:00:03 GMT"}}, 3},
        Wish{"DateBehind", {{"retry-after", "Tue, 01 Dec 2026 11:00:00 GMT"}}, 0},
        Wish{"Negative", {{"retry-after", "-1"}}, std::nullopt}, Wish{"Huge", {{"retry-after", "1e309"}}, std::nullopt},
        Wish{"NotANumber", {{"retry-after", "nan"}}, std::nullopt},
        Wish{"Infinite", {{"retry-after", "inf"}}, std::nullopt},
        Wish{"Empty", {{"retry-after", ""}}, std::nullopt},
        Wish{"TenDays", {{"retry-after", "864000"}}, 864000},
        Wish{"Milliseconds", {{"retry-after-ms", "1500"}}, 1.5},
        Wish{"MillisecondsFirst", {{"retry-after", "9"}, {"retry-after-ms", "250"}}, 0.25},
        Wish{"ResetAsDuration", {{"x-ratelimit-reset-tokens", "6m0s"}, {"x-ratelimit-reset-requests", "20ms"}}, 360},
        Wish{"ResetAsDate", {{"anthropic-ratelimit-requests-reset", "2026-12-01T12:00:30Z"}}, 30},
        Wish{"Nothing", {{"content-type", "text/html"}}, std::nullopt}),
    [](const auto& test) { return test.param.name; });

TEST(Backoff, DoublesUpToAMinuteWithJitter) {
  EXPECT_DOUBLE_EQ(backoff(0, 0).count(), 0.5);
  EXPECT_DOUBLE_EQ(backoff(3, 0).count(), 4);
  EXPECT_NEAR(backoff(3, 0.999999).count(), 8, 1e-4);
  EXPECT_DOUBLE_EQ(backoff(1000, 0).count(), 30);
}

TEST(WaitBefore, ObeysWithinTheCap) {
  EXPECT_EQ(wait_before(0, {{"retry-after", "864000"}}, kNow, 0, Seconds(600)), Seconds(600));
  EXPECT_EQ(wait_before(0, {{"retry-after", "0"}}, kNow, 0, Seconds(600)), Seconds(0));
  EXPECT_EQ(wait_before(2, {}, kNow, 0, Seconds(600)), Seconds(2));
}

TEST(IsTransient, KnowsWhatMayPass) {
  for (const long status : {408, 409, 429, 500, 502, 503, 504, 529}) EXPECT_TRUE(is_transient(status)) << status;
  for (const long status : {200, 400, 401, 403, 404, 422, 501}) EXPECT_FALSE(is_transient(status)) << status;
}

}  // namespace
}  // namespace pkb::model
