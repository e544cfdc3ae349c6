// SPDX-License-Identifier: Apache-2.0
// Bounds against values worked out by hand from the problems' formulas and NVIDIA's figures for the H200: 989.4 TFLOP/s
// in bf16, 66.9 in fp32, 1978.9 at most, 4814 GB/s of memory, 60 MiB of L2 and 450 GB/s of links in each direction.
#include "harness/roofline/bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/error/error.h"

namespace pkb::roofline {
namespace {

struct Case {
  const char* name;
  const char* problem;
  problem::Problem::Choice choice;
  Times roofline, floor;
  Limit limit, floor_limit;
};

// Six digits of each value.
void expect_times(const Times& got, const Times& wanted) {
  EXPECT_NEAR(got.compute, wanted.compute, 1e-6 * wanted.compute);
  EXPECT_NEAR(got.memory, wanted.memory, 1e-6 * wanted.memory);
  EXPECT_NEAR(got.links, wanted.links, 1e-6 * wanted.links);
}

class OnH200 : public testing::TestWithParam<Case> {};

TEST_P(OnH200, AgreesWithHandWork) {
  const Case& c = GetParam();
  const auto problem = problem::find(PKB_PROBLEMS, c.problem);
  const Bound bound = bound_of(problem, problem.instances(c.choice).front(), find_hardware("h200"));
  expect_times(bound.roofline, c.roofline);
  expect_times(bound.floor, c.floor);
  EXPECT_EQ(bound.roofline.limit(), c.limit);
  EXPECT_EQ(bound.floor.limit(), c.floor_limit);
}

INSTANTIATE_TEST_SUITE_P(
    Problems, OnH200,
    testing::Values(
        // S = 8192 * 8192 * 2 = 134217728 bytes; 58720256 additions; 2 S of memory, S each way. Of the output
        // 62914560 bytes may stay in L2.
        Case{"AllReduceFull", "1", {.size = "full", .ranks = 8},
             {.compute = 5.934936e-8, .memory = 5.576142e-5, .links = 2.982616e-4},
             {.compute = 2.373854e-8, .memory = 4.269233e-5, .links = 1.491308e-4},
             Limit::links, Limit::links},
        // S = 1024 * 1024 * 2; 5 S of memory, of which the output's 4 S fit into L2; 3 S are received.
        Case{"AllGatherPaper", "2", {.size = "paper", .ranks = 4},
             {.compute = 0, .memory = 2.178180e-6, .links = 1.398101e-5},
             {.compute = 0, .memory = 4.356361e-7, .links = 6.990507e-6},
             Limit::links, Limit::links},
        // S = 4096 * 7168 * 4 = 117440512; 16 S of memory, 7 S each way.
        Case{"AllToAllFullFp32", "8", {.size = "full", .ranks = 8, .dtype = DType::f32},
             {.compute = 0, .memory = 3.903299e-4, .links = 1.826852e-3},
             {.compute = 0, .memory = 3.772608e-4, .links = 9.134262e-4},
             Limit::links, Limit::links},
        // 2 * 8192 * 8192 * 3584 + 58720256 = 481095057408 operations; operands and C of 251658240 bytes; C's
        // 134217728 are received.
        Case{"GemmAllReduceFull", "13", {.size = "full", .ranks = 8},
             {.compute = 4.862493e-4, .memory = 5.227633e-5, .links = 2.982616e-4},
             {.compute = 1.944899e-4, .memory = 3.920725e-5, .links = 1.491308e-4},
             Limit::compute, Limit::compute},
        // One rank has nobody to send to.
        Case{"AllReduceAlone", "1", {.size = "paper", .ranks = 1},
             {.compute = 0, .memory = 8.712721e-7, .links = 0},
             {.compute = 0, .memory = 4.356361e-7, .links = 0},
             Limit::memory, Limit::memory}),
    [](const auto& test) { return test.param.name; });

TEST(Bound, NoFloorIsAboveItsRoofline) {
  for (const problem::Problem& problem : problem::load_all(PKB_PROBLEMS))
    for (const std::string& size : problem.sizes())
      for (const DType dtype : {DType::bf16, DType::f16, DType::f32})
        for (const Hardware& hardware : all_hardware()) {
          const auto instance = problem.instances({.size = size, .ranks = 0, .dtype = dtype}).front();
          const Bound bound = bound_of(problem, instance, hardware);
          EXPECT_LE(bound.floor.longest(), bound.roofline.longest()) << problem.name() << " " << hardware.name;
          EXPECT_GE(bound.floor.longest(), 0) << problem.name() << " " << hardware.name;
        }
}

TEST(Bound, MeasuredRatesMoveTheRooflineOnly) {
  const auto problem = problem::find(PKB_PROBLEMS, "13");
  const auto instance = problem.instances({.size = "full", .ranks = 8}).front();
  const Bound nominal = bound_of(problem, instance, find_hardware("h200"));
  Hardware hardware = find_hardware("h200");
  hardware.measured = hardware.nominal;
  hardware.measured->peaks.bf16 /= 2;
  const Bound measured = bound_of(problem, instance, hardware);
  EXPECT_DOUBLE_EQ(measured.roofline.compute, 2 * nominal.roofline.compute);
  EXPECT_EQ(measured.floor.longest(), nominal.floor.longest());
}

}  // namespace
}  // namespace pkb::roofline
