// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/memory.h"
#include "harness/judge/oracle.h"
#include "harness/judge/phase_clock.h"
#include "harness/launch/job.h"
#include "harness/problem/problem.h"
#include "harness/store/verdict.h"

namespace pkb::judge {

/// What every mode of a judge works with.
class Bench {
 public:
  /// Collective. @throws InputError, EnvironmentError
  Bench(const launch::Job& job, MPI_Comm comm);

  const launch::Job& job() const { return x_job; }
  MPI_Comm comm() const { return x_comm; }
  int rank() const { return x_rank; }
  device::Memory& memory() { return *x_memory; }
  const problem::Problem& problem() const { return x_problem; }
  const ref::ProblemLibrary& library() const { return x_library; }
  const std::vector<problem::Instance>& instances() const { return x_instances; }
  PhaseClock& clock() { return x_clock; }

  /// The variant of a trial: trials are grouped by variant, imported inputs are of the first.
  std::size_t variant_of(int trial) const;
  std::unique_ptr<Oracle> oracle(std::size_t variant);
  /// Tells who watches what is being done. Rank 0's word counts.
  void announce(std::string_view what) const;

 private:
  launch::Job x_job;
  MPI_Comm x_comm;
  int x_rank = 0;
  problem::Problem x_problem;
  std::vector<problem::Instance> x_instances;
  ref::ProblemLibrary x_library;
  std::unique_ptr<device::Memory> x_memory;
  PhaseClock x_clock;
};

/// What a mode found on this rank; what concerns all ranks is found on rank 0.
struct Findings {
  std::vector<Diagnosis> diagnoses;
  nlohmann::json trials;    ///< rank 0: an object per run of a trial
  nlohmann::json facts;     ///< rank 0: more members of the verdict
  nlohmann::json counters;  ///< what the virtual GPU counted, summed over runs
  std::string worker_output;
};

Findings evaluate(Bench& bench);
Findings check_baseline(Bench& bench);
/// Rank 0: a fact "audit", an object per answer.
Findings audit(Bench& bench);
Findings export_trial(Bench& bench);

/// Collective: gathers the findings and, on rank 0, writes verdict.json into the run folder.
void write_verdict(Bench& bench, const Findings& findings);

}  // namespace pkb::judge
