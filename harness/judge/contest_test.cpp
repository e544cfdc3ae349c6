// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "harness/judge/against_roofline.h"
#include "harness/judge/contest.h"

namespace pkb::judge {
namespace {

/// Contestants whose times are drawn; what they would compute is left out.
class ContestTest : public testing::Test {
 protected:
  Contestant runner(std::function<double()> device, double beyond = 0.004) {
    return [this, device = std::move(device), beyond](std::uint32_t iteration, int) -> std::optional<SlowestLap> {
      EXPECT_GT(iteration, x_last);
      x_last = iteration;
      const double time = device();
      return SlowestLap{.device_ms = time, .host_ms = 0.01, .outside_ms = time + beyond};
    };
  }
  Contest contest(Contestant baseline, Contestant candidate) {
    x_last = 0;
    return {.comm = MPI_COMM_WORLD,
            .seed = 7,
            .prepare = [this](int pair) { x_prepared.push_back(pair); },
            .baseline = std::move(baseline),
            .candidate = std::move(candidate),
            .nothing = runner([] { return 0.002; }),
            .after_candidate = [](int) {},
            .processes_per_gpu = 1000};  // other tests may be on this machine's GPU
  }
  double noisy(double mean, double spread) {
    return std::normal_distribution<double>(mean, spread * mean)(x_random);
  }

  std::mt19937_64 x_random{11};
  std::uint32_t x_last = 0;
  std::vector<int> x_prepared;
};

TEST_F(ContestTest, FindsTheRatioAndStopsWhenItIsKnown) {
  const auto timing = hold(contest(runner([&] { return noisy(3, 0.005); }), runner([&] { return noisy(2, 0.005); })));
  ASSERT_TRUE(timing);
  EXPECT_NEAR(timing->at("speedup").at("value").get<double>(), 1.5, 0.01);
  EXPECT_EQ(timing->at("baseline").at("samples_ms").size(), 20u);
  EXPECT_TRUE(timing->at("unstable").is_null());
  EXPECT_NEAR(timing->at("floor_ms").get<double>(), 0.002, 1e-9);
  EXPECT_EQ(doubt_about_events(*timing), "");
  EXPECT_TRUE(std::ranges::is_sorted(x_prepared));
}

TEST_F(ContestTest, ExtendsAndFlagsWhatDoesNotSettle) {
  int lap = 0;
  const auto timing = hold(contest(runner([] { return 3; }), runner([&] { return ++lap % 2 == 0 ? 2.0 : 3.0; })));
  ASSERT_TRUE(timing);
  EXPECT_GE(timing->at("baseline").at("samples_ms").size(), 2000u);
  EXPECT_THAT(timing->at("unstable").get<std::string>(), testing::HasSubstr("two groups"));
}

TEST_F(ContestTest, GivesNoSpeedupBelowTheFloor) {
  const auto timing = hold(contest(runner([&] { return 0.5; }), runner([&] { return 0.0021; })));
  ASSERT_TRUE(timing);
  EXPECT_TRUE(timing->at("speedup").is_null());
  EXPECT_TRUE(timing->at("below_floor").get<bool>());
}

TEST_F(ContestTest, DoubtsEventsThatTheClockContradicts) {
  const auto baseline = [&] { return runner([&] { return 0.1; }); };
  const auto lying = hold(contest(baseline(), runner([&] { return 0.05; }, 0.06)));
  EXPECT_THAT(doubt_about_events(lying.value()), testing::HasSubstr("in 20 of 20"));
  const auto never_done =
      hold(contest(baseline(), runner([&] { return 0.05; }, std::numeric_limits<double>::infinity())));
  EXPECT_THAT(doubt_about_events(never_done.value()), testing::HasSubstr("in 20 of 20"));
  int lap = 0;
  const auto jitter = hold(contest(baseline(), [&](std::uint32_t, int) -> std::optional<SlowestLap> {
    return SlowestLap{.device_ms = 0.05, .host_ms = 0, .outside_ms = ++lap % 10 == 0 ? 1.0 : 0.055};
  }));
  EXPECT_EQ(doubt_about_events(jitter.value()), "");
  // Laps that no sane process reports come as infinite.
  const auto mad = hold(contest(baseline(), [&](std::uint32_t, int) -> std::optional<SlowestLap> {
    const double never = std::numeric_limits<double>::infinity();
    return SlowestLap{.device_ms = never, .host_ms = never, .outside_ms = 0.1};
  }));
  EXPECT_THAT(doubt_about_events(mad.value()), testing::HasSubstr("contradicts"));
}

TEST_F(ContestTest, EndsWhenAContestantDoes) {
  EXPECT_FALSE(hold(contest(runner([&] { return 1; }), [](std::uint32_t, int) { return std::nullopt; })));
}

TEST(Roofline, RefusesTheImpossible) {
  const problem::Problem problem = problem::Problem::load(PKB_PROBLEMS "/001_allreduce");
  const problem::Instance instance = problem.instances({.size = "full", .ranks = 1, .dtype = DType::bf16}).front();
  // 8192 x 8192 bf16 are 134,217,728 bytes: 0.028 ms to read at the H200's 4.8 TB/s, 0.056 ms with the writes.
  nlohmann::json timing = {{"baseline", {{"median_ms", 0.08}}}, {"candidate", {{"median_ms", 0.07}}}};
  EXPECT_EQ(hold_against_roofline(timing, problem, instance, "NVIDIA H200"), "");
  EXPECT_NEAR(timing.at("roofline").at("utilisation").at("candidate").get<double>(), 0.0559 / 0.07, 0.01);
  timing["candidate"]["median_ms"] = 0.01;
  EXPECT_THAT(hold_against_roofline(timing, problem, instance, "NVIDIA H200"), testing::HasSubstr("reading the inputs"));
  EXPECT_EQ(hold_against_roofline(timing, problem, instance, "a GPU that nobody knows"), "");
  EXPECT_TRUE(timing.at("roofline").is_null());
}

}  // namespace
}  // namespace pkb::judge

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
