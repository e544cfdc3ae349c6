// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/problem/problem.h"

namespace pkb::judge {

/// Adds "roofline" to a result's "timing": the bound on the GPU that the driver calls `device`, and how much of it
/// baseline and candidate reach; null where the table lacks that GPU. Returns why the candidate's time is impossible;
/// empty when it is not.
std::string hold_against_roofline(nlohmann::json& timing, const problem::Problem& problem,
                                  const problem::Instance& instance, const std::string& device);

}  // namespace pkb::judge
