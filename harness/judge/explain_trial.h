// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "harness/judge/oracle.h"
#include "harness/judge/trial_check.h"

namespace pkb::judge {

/// Collective: says in `result` why outputs are wrong, by what the reference gives when its collectives are
/// spoilt, by what other ranks and the trial before should have, and by the values themselves. `previous` are
/// the outputs of the trial before, none when its shapes were others.
void explain_trial(Oracle& oracle, const ref::Tensors& inputs, int trial, const Expected& expected,
                   const ref::Tensors& previous, const HostTensors& now, TrialResult& result, MPI_Comm comm);

}  // namespace pkb::judge
