// SPDX-License-Identifier: Apache-2.0
// The same candidates where all ranks share a real GPU, and what only a real one can suffer from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/device/probe.h"
#include "harness/integrity/attacks.h"
#include "harness/integrity/evaluation.h"

namespace pkb::integrity {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

/// A real GPU cannot tell a loop from a wait, and lets any code of the driver run.
std::string expected(const Attack& attack) {
  const std::string verdict = attack.verdict;
  return verdict == "timeout" ? "deadlock|timeout" : verdict;
}

class OnAGpu : public testing::TestWithParam<Attack> {
 protected:
  void SetUp() override {
    const device::Probe probe = device::probe();
    if (probe.gpus.empty() || !probe.gpus.front().exports_memory) GTEST_SKIP() << "no GPU";
  }
};

TEST_P(OnAGpu, TheAttackMeetsTheSame) {
  const cli::TestFolder folder;
  const Machine machine;
  const auto source = join(GetParam().name, folder);
  const Evaluated hostile = evaluate(source, {.ranks = GetParam().ranks, .device = "shared"}, machine);
  EXPECT_THAT(hostile.verdict, MatchesRegex(expected(GetParam())))
      << hostile.diagnoses << hostile.worker_output;
  EXPECT_THAT(hostile.worker_output, Not(HasSubstr("REACHED")));
  EXPECT_THAT(machine.leftovers(), IsEmpty());
  EXPECT_EQ(evaluate(good_candidate(), {.trials = 1, .device = "shared"}, machine).verdict, "correct");
}

INSTANTIATE_TEST_SUITE_P(Candidates, OnAGpu, testing::ValuesIn(attacks().begin(), attacks().end()),
                         [](const auto& test) { return name_of(test.param); });

// An error that sticks to a CUDA context ends with the worker that had it.
INSTANTIATE_TEST_SUITE_P(StickyErrors, OnAGpu,
                         testing::Values(Attack{"touches_no_memory_of_its_own", "crash"},
                                         Attack{"traps", "crash"}),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace pkb::integrity
