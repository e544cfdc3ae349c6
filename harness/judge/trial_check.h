// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/judge/oracle.h"
#include "harness/store/verdict.h"

namespace pkb::judge {

/// What every byte of an output holds before a run: NaN in floating dtypes.
std::byte poison_for(DType dtype);

/// The outputs of all ranks in one run of one trial, judged.
struct TrialResult {
  std::vector<Diagnosis> diagnoses;  ///< this rank's; those about all ranks on rank 0
  nlohmann::json outputs() const;    ///< one object per checked output, over all ranks
  bool passes = true;                ///< on every rank

  struct Output {
    std::string name;
    std::int64_t elements = 0, mismatches = 0;
    double worst = 0;                            ///< largest error / bound
    double candidate_rms = 0, baseline_rms = 0;  ///< against golden; 0 for exact checks
  };
  std::vector<Output> summary;
};

/// Collective. `before` holds the inputs as they were, `now` inputs and outputs after the run.
TrialResult check_trial(Oracle& oracle, int trial, const Expected& expected, const HostTensors& before,
                        const HostTensors& now, MPI_Comm comm);

/// Collective: the first byte at which rank 0's bytes differ from this rank's, or -1. Ranks with other sizes
/// differ.
std::int64_t first_difference_from_rank_0(std::span<const std::byte> mine, MPI_Comm comm);

}  // namespace pkb::judge
