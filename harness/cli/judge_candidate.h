// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace pkb::cli {

/// Runs `pkb eval ARGUMENTS --json` as a process of its own and returns the result it prints; ends it when `stop` becomes
/// true. @throws EnvironmentError when there is no result
nlohmann::json judge_candidate(const std::vector<std::string>& arguments, const std::atomic<bool>& stop);

}  // namespace pkb::cli
