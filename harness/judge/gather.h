// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace pkb::judge {

/// Collective: every rank's value, by rank, on rank 0; nothing elsewhere. Bytes that are no UTF-8 are
/// replaced.
std::vector<nlohmann::json> gather(const nlohmann::json& mine, MPI_Comm comm);

}  // namespace pkb::judge
