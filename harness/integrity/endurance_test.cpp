// SPDX-License-Identifier: Apache-2.0
// Labelled long: what a machine that evaluates all day must bear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/integrity/attacks.h"
#include "harness/integrity/evaluation.h"

namespace pkb::integrity {
namespace {

using testing::IsEmpty;
using testing::MatchesRegex;

class Alternates : public testing::TestWithParam<Attack> {};

TEST_P(Alternates, ThreeTimesWithAGoodCandidate) {
  const cli::TestFolder folder;
  const Machine machine;
  const auto hostile = join(GetParam().name, folder);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(evaluate(hostile, {.ranks = GetParam().ranks}, machine).verdict, MatchesRegex(GetParam().verdict));
    EXPECT_EQ(evaluate(good_candidate(), {}, machine).verdict, "correct");
  }
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Candidates, Alternates, testing::ValuesIn(attacks().begin(), attacks().end()),
                         [](const auto& test) { return name_of(test.param); });

/// Kilobytes of shared memory in use on the machine.
long shared_kilobytes() {
  const std::string facts = read("/proc/meminfo");
  return std::stol(facts.substr(facts.find("Shmem:") + 6));
}

class InARow : public testing::TestWithParam<int> {};

// Eight times, so that each stays within the time that a test may take.
TEST_P(InARow, TwentyFiveEvaluationsLeaveNothing) {
  const Machine machine;
  const auto shared_objects = std::distance(std::filesystem::directory_iterator("/dev/shm"), {});
  const long before = shared_kilobytes();
  for (int i = 0; i < 25; ++i) ASSERT_EQ(evaluate(good_candidate(), {.trials = 1}, machine).verdict, "correct");
  EXPECT_THAT(machine.leftovers(), IsEmpty());
  EXPECT_LE(std::distance(std::filesystem::directory_iterator("/dev/shm"), {}), shared_objects);
  EXPECT_LT(shared_kilobytes() - before, 64 << 10);
}

INSTANTIATE_TEST_SUITE_P(Round, InARow, testing::Range(0, 8));

}  // namespace
}  // namespace pkb::integrity
