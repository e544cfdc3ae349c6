// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>

#include "harness/worker/protocol.h"

namespace pkb::judge {

/// Bytes that left and entered a rank's memory for or from other ranks: of the rank where they are the most.
struct LinkBytes {
  std::uint64_t sent = 0, received = 0;
};

/// Collective: what the kernels of one run moved, from what each rank's virtual GPU `counted`. An access through a
/// multicast address counts once for each replica, as without a fabric that reduces.
LinkBytes busiest_link(const worker::Counters& counted, MPI_Comm comm);

}  // namespace pkb::judge
