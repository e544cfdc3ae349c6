// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/oracle.h"
#include "harness/problem/problem.h"
#include "reference/parallel.h"
#include "reference/testing/ranks.h"

// Golden values belong to the problem, not to the machine.
namespace pkb {
namespace {

using problem::Instance;
using Values = std::vector<double>;

/// The golden outputs, one after the other, of the rank that this process is in `comm`.
std::vector<Values> golden(const Instance& instance, const ref::ProblemLibrary& library, MPI_Comm comm,
                           int trial, int threads) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  launch::Job job;
  job.dtype = instance.dtype;
  job.seed = 5;
  judge::Oracle oracle(job, instance, library, comm, rank);
  ref::set_host_threads(threads);  // the oracle has shared out the cores
  ref::Tensors promoted;
  for (const auto& [name, tensor] : oracle.inputs(trial))
    promoted.set(name, info(tensor.dtype()).floating ? tensor.to(DType::f64) : tensor);
  std::vector<Values> outputs;
  for (const auto& [name, tensor] : library.reference(oracle.context(), promoted))
    outputs.push_back(tensor.values());
  return outputs;
}

/// What the rank `partner` of `comm` has in place of `mine`.
Values swapped(const Values& mine, int partner, MPI_Comm comm) {
  std::int64_t sent = std::ssize(mine), received = 0;
  MPI_Sendrecv(&sent, 1, MPI_INT64_T, partner, 0, &received, 1, MPI_INT64_T, partner, 0, comm,
               MPI_STATUS_IGNORE);
  Values theirs(static_cast<std::size_t>(received));
  MPI_Sendrecv(mine.data(), static_cast<int>(sent), MPI_DOUBLE, partner, 0, theirs.data(),
               static_cast<int>(received), MPI_DOUBLE, partner, 0, comm, MPI_STATUS_IGNORE);
  return theirs;
}

/// Within a few thousand roundings of the largest.
void expect_alike(const Values& a, const Values& b) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const double each : a)
    if (std::isfinite(each)) largest = std::max(largest, std::fabs(each));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    ASSERT_TRUE(same || std::fabs(a[i] - b[i]) <= 1e-12 * largest) << i << ": " << a[i] << " is not " << b[i];
  }
}

/// One thread and ranks in the order of the processes, against three threads and ranks in the opposite order.
void expect_independence(const problem::Problem& problem, const char* size, MPI_Comm comm) {
  int process = 0, processes = 0;
  MPI_Comm_rank(comm, &process);
  MPI_Comm_size(comm, &processes);
  MPI_Comm reversed = MPI_COMM_NULL;
  MPI_Comm_split(comm, 0, processes - process, &reversed);
  const Instance instance = problem.instances({.size = size, .ranks = processes}).front();
  const ref::ProblemLibrary library(instance.folder);
  for (const int trial : {0, 1}) {
    SCOPED_TRACE(instance.folder + " " + size + ", trial " + std::to_string(trial));
    const std::vector<Values> once = golden(instance, library, comm, trial, 1);
    const std::vector<Values> again = golden(instance, library, reversed, trial, 3);
    ASSERT_EQ(once.size(), again.size());
    for (std::size_t i = 0; i < once.size(); ++i)
      expect_alike(once[i], swapped(again[i], processes - 1 - process, comm));
  }
  MPI_Comm_free(&reversed);
}

TEST(Golden, DependsOnNeitherThreadsNorTheOrderOfRanks) {
  for (const problem::Problem& each : problem::load_all(PKB_PROBLEMS))
    expect_independence(each, PKB_SIZE, MPI_COMM_WORLD);
}

/// Large enough for several threads; of two processes, so that not too many wait for a core.
TEST(Golden, OfLargerProblemsDoesNotEither) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  MPI_Comm two = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, process < 2 ? 0 : MPI_UNDEFINED, process, &two);
  if (two == MPI_COMM_NULL) return;
  for (const char* name : {"39", "59"}) expect_independence(problem::find(PKB_PROBLEMS, name), "small", two);
  MPI_Comm_free(&two);
}

}  // namespace
}  // namespace pkb
