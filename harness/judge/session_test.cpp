// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>

#include "harness/process/executable.h"

namespace pkb::judge {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

auto diagnosis(Verdict verdict, int rank, const std::string& text) {
  return AllOf(Field(&Diagnosis::verdict, verdict), Field(&Diagnosis::rank, rank),
               Field(&Diagnosis::text, text));
}

/// Two ranks with scripted workers.
class TwoRanks : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &x_rank);
    std::array<char, 64> folder{"/tmp/pkb-session-XXXXXX"};
    if (x_rank == 0) {
      ASSERT_NE(::mkdtemp(folder.data()), nullptr);
    }
    MPI_Bcast(folder.data(), folder.size(), MPI_CHAR, 0, MPI_COMM_WORLD);
    x_folder = folder.data();
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (x_rank == 0) std::filesystem::remove_all(x_folder);
  }

  /// All phases with a worker that behaves so. Returns how many of start, share, load, setup, run, teardown
  /// went well.
  int play(const std::string& behaviour) {
    Agreement agreement(MPI_COMM_WORLD);
    DescriptorExchange exchange(MPI_COMM_WORLD, x_folder);
    const auto memory = device::virtual_memory();
    const device::Segment tensors = memory->create(4096);
    const process::Command command = unconfined_worker();
    Session session({.rank = x_rank, .ranks = 2, .run_deadline = std::chrono::milliseconds(700)},
                    WorkerProcess(command, false), agreement, exchange, *memory);
    int phases = 0;
    for (const std::function<bool()>& phase : std::initializer_list<std::function<bool()>>{
             [&] {
               return session.start({.rank = x_rank, .ranks = 2, .groups = {}, .chip = ""});
             },
             [&] { return session.share(tensors); }, [&] { return session.load({.library = behaviour}); }, [&] { return session.setup({}); },
             [&] { return session.run({.seed = 0}, 4); }, [&] { return session.teardown(); }}) {
      if (!phase()) break;
      ++phases;
    }
    session.quit();
    agreement.finish();
    x_diagnoses = session.diagnoses();
    return phases;
  }

  static process::Command unconfined_worker() {
    process::Command command;
    command.arguments = {(process::own_folder() / "scripted_worker").string()};
    return command;
  }

  int x_rank = 0;
  std::filesystem::path x_folder;
  std::vector<Diagnosis> x_diagnoses;
};

constexpr int kAll = 6, kUntilSetup = 4, kUntilLoad = 3;

TEST_F(TwoRanks, ThatAnswerGoThroughAllPhases) {
  EXPECT_EQ(play("good"), kAll);
  EXPECT_THAT(x_diagnoses, IsEmpty());
}

TEST_F(TwoRanks, GetTheSymmetricMemoryAndTheBarrierTheyAskFor) {
  EXPECT_EQ(play("symmetric"), kAll);
  EXPECT_THAT(x_diagnoses, IsEmpty());
}

TEST_F(TwoRanks, StopWhenOnlyOneAsks) {
  EXPECT_EQ(play("1:symmetric of its own"), kUntilLoad);
  if (x_rank == 0)
    EXPECT_THAT(x_diagnoses,
                ElementsAre(diagnosis(Verdict::crash, -1,
                                      "every rank must call symmetric() and barrier() alike: rank 0 "
                                      "finished setup, but rank 1 called symmetric(100)")));
  else
    EXPECT_THAT(x_diagnoses, IsEmpty());
}

TEST_F(TwoRanks, AreRefusedMemoryThatNoMachineHas) {
  EXPECT_EQ(play("greed"), kUntilLoad);
  ASSERT_EQ(x_diagnoses.size(), 1u);
  EXPECT_EQ(x_diagnoses[0].verdict, Verdict::crash);
  EXPECT_THAT(x_diagnoses[0].text,
              testing::StartsWith("symmetric(4611686018427387904): virtual device memory: cannot "));
}

struct Failure {
  const char* name;
  const char* behaviour;
  Verdict verdict;
  const char* text;
};
class OneOfTwoRanks : public TwoRanks, public testing::WithParamInterface<Failure> {};

TEST_P(OneOfTwoRanks, FailsInRunAndStopsTheOther) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(play(std::string("1:") + GetParam().behaviour), kUntilSetup);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  // What a rank does is known to its own judge, silence is noticed by the first.
  const int who_knows = GetParam().verdict == Verdict::deadlock ? 0 : 1;
  if (x_rank != who_knows) {
    EXPECT_THAT(x_diagnoses, IsEmpty());
    return;
  }
  ASSERT_FALSE(x_diagnoses.empty());
  EXPECT_THAT(x_diagnoses[0], diagnosis(GetParam().verdict, 1, GetParam().text));
  EXPECT_EQ(x_diagnoses[0].trial, 4);
}

INSTANTIATE_TEST_SUITE_P(
    Session, OneOfTwoRanks,
    testing::Values(Failure{"ExitsWell", "exit 0", Verdict::crash,
                            "the worker exited with status 0 in run before it had answered: code of the candidate called "
                            "exit or the like"},
                    Failure{"ExitsBadly", "exit 3", Verdict::crash, "the worker exited with status 3 in run"},
                    Failure{"Crashes", "crash", Verdict::crash,
                            "the worker was killed by signal 11 (Segmentation fault) in run"},
                    Failure{"IsSilent", "silence", Verdict::deadlock,
                            "run has not finished within 0.7 s; rank 0 had answered"},
                    Failure{"SpeaksGarbage", "garbage", Verdict::disqualified,
                            "the worker spoke to the judge on its own in run: unknown message"},
                    Failure{"AsksInRun", "request in run", Verdict::disqualified,
                            "the worker spoke to the judge on its own in run: a request outside setup"},
                    Failure{"AnswersSomethingElse", "another ticket", Verdict::disqualified,
                            "the worker spoke to the judge on its own in run: an answer to nothing that it was told"},
                    Failure{"SendsDescriptors", "descriptors", Verdict::disqualified,
                            "the worker spoke to the judge on its own in run: with descriptors"},
                    Failure{"BlamesTheEnvironment", "environment", Verdict::crash, "no disk"},
                    Failure{"ReportsTrouble", "trouble", Verdict::unsupported, "lacks it"}),
    [](const auto& test) { return test.param.name; });

// A second answer is noticed at once or as an answer to what comes next.
TEST_F(TwoRanks, StopWhenOneAnswersTwice) {
  EXPECT_LT(play("1:two answers"), kAll);
  if (x_rank == 0) {
    EXPECT_THAT(x_diagnoses, IsEmpty());
  } else {
    ASSERT_EQ(x_diagnoses.size(), 1u);
    EXPECT_EQ(x_diagnoses[0].verdict, Verdict::disqualified);
    EXPECT_THAT(x_diagnoses[0].text, testing::StartsWith("the worker spoke to the judge on its own in "));
  }
}

}  // namespace
}  // namespace pkb::judge

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return failed;
}
