// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/launch/job.h"
#include "harness/problem/problem.h"

/// The folder that `pkb export` writes and `--import` reads: one .npy file per tensor and rank, and
/// index.json.
namespace pkb::judge {

enum class Role : std::uint8_t { input, golden, baseline };
std::string_view name_of(Role role);

/// "rank0.input.A_local.npy"
std::string exported_name(int rank, Role role, std::string_view tensor);

/// Rank 0 checks that the import folder is for this job, when it has an index. @throws InputError
void check_index(const launch::Job& job, const problem::Instance& instance);

}  // namespace pkb::judge
