// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>

#include "reference/communicator.h"

namespace pkb::ref {

/// Collectives on host tensors through MPI. `comm` must outlive it.
std::unique_ptr<Communicator> make_mpi_communicator(MPI_Comm comm);

/// The same for tensors on cuda, by way of copies on the host: for ranks that share a GPU.
std::unique_ptr<Communicator> make_staged_communicator(MPI_Comm comm);

}  // namespace pkb::ref
