// SPDX-License-Identifier: Apache-2.0
// Labelled long: what a machine that evaluates all day must bear.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "harness/integrity/attacks.h"
#include "harness/integrity/evaluation.h"

namespace pkb::integrity {
namespace {

using cli::Process;
using cli::TestFolder;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

class Alternates : public testing::TestWithParam<Attack> {};

TEST_P(Alternates, ThreeTimesWithAGoodCandidate) {
  const TestFolder folder;
  const Machine machine;
  const auto hostile = join(GetParam().name, folder);
  for (int i = 0; i < 3; ++i) {
    const Evaluated met = evaluate(hostile, {.ranks = GetParam().ranks}, machine);
    EXPECT_THAT(met.verdict, MatchesRegex(GetParam().verdict)) << met.diagnoses << met.worker_output;
    EXPECT_THAT(met.diagnoses, ContainsRegex(GetParam().text));
    EXPECT_THAT(met.worker_output, Not(HasSubstr("REACHED")));
    EXPECT_EQ(evaluate(good_candidate(), {}, machine).verdict, "correct");
  }
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Candidates, Alternates, testing::ValuesIn(attacks().begin(), attacks().end()),
                         [](const auto& test) { return name_of(test.param); });

/// Whatever a killed evaluation left, the next one removes it and is right.
void expect_next_is_unharmed(const Machine& machine) {
  EXPECT_EQ(evaluate(good_candidate(), {.trials = 1}, machine).verdict, "correct");
  EXPECT_THAT(machine.leftovers(), IsEmpty());
}

class KilledAfter : public testing::TestWithParam<int> {};  // milliseconds

TEST_P(KilledAfter, AnEvaluationLeavesNothingThatTheNextDoesNotRemove) {
  const Machine machine;
  const TestFolder out;
  {
    Process pkb(command(good_candidate(), {.trials = 50}, machine, out.path()));
    std::this_thread::sleep_for(std::chrono::milliseconds(GetParam()));
    ::kill(pkb.pid(), SIGKILL);
    EXPECT_EQ(pkb.wait(), 128 + SIGKILL);
  }
  EXPECT_THAT(out.files(), IsEmpty());
  expect_next_is_unharmed(machine);
}

/// The last process that an evaluation has started by then: a compiler, mpirun, a judge, a sandbox or a
/// worker.
TEST_P(KilledAfter, AnyProcessOfAnEvaluationEndsItInOrder) {
  const Machine machine;
  const TestFolder out;
  {
    Process pkb(command(good_candidate(), {.trials = 50}, machine, out.path()));
    std::this_thread::sleep_for(std::chrono::milliseconds(GetParam()));
    const auto all = cli::descendants(pkb.pid());
    if (!all.empty()) ::kill(all.back(), SIGKILL);
    const int exit = pkb.wait();
    EXPECT_THAT(exit, testing::AnyOf(0, 1, 3)) << pkb.errors();
    EXPECT_EQ(out.files().size(), exit == 3 ? 0u : 1u);
  }
  expect_next_is_unharmed(machine);
}

INSTANTIATE_TEST_SUITE_P(Milliseconds, KilledAfter, testing::Values(20, 150, 400, 700, 1500),
                         [](const auto& test) { return std::to_string(test.param); });

/// Kilobytes of shared memory in use on the machine.
long shared_kilobytes() {
  const std::string facts = read("/proc/meminfo");
  return std::stol(facts.substr(facts.find("Shmem:") + 6));
}

/// Open files, ours and of all processes together.
struct Descriptors {
  std::ptrdiff_t ours = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  long of_all = std::stol(read("/proc/sys/fs/file-nr"));
};

class InARow : public testing::TestWithParam<int> {};

// Eight times, so that each stays within the time that a test may take.
TEST_P(InARow, TwentyFiveEvaluationsLeaveNothing) {
  const Machine machine;
  const auto shared_objects = std::distance(std::filesystem::directory_iterator("/dev/shm"), {});
  const long before = shared_kilobytes();
  const Descriptors open;
  for (int i = 0; i < 25; ++i)
    ASSERT_EQ(evaluate(good_candidate(), {.trials = 1}, machine).verdict, "correct");
  EXPECT_THAT(machine.leftovers(), IsEmpty());
  EXPECT_LE(std::distance(std::filesystem::directory_iterator("/dev/shm"), {}), shared_objects);
  EXPECT_LT(shared_kilobytes() - before, 64 << 10);
  EXPECT_EQ(Descriptors().ours, open.ours);
  EXPECT_LT(Descriptors().of_all - open.of_all, 25 * 20)
      << "others open some too, but not twenty for each of ours";
}

INSTANTIATE_TEST_SUITE_P(Round, InARow, testing::Range(0, 8));

}  // namespace
}  // namespace pkb::integrity
