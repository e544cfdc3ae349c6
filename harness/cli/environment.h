// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/candidate/compile.h"
#include "harness/cli/job_options.h"

/// What a result says about where it came from.
namespace pkb::cli {

/// pkb's commit, the host and the toolkit. What the GPUs are, the judges report.
nlohmann::json environment(const Installation& here);

/// SHA-256 over all that decides a problem's verdicts: its description and its code.
std::string problem_hash(const problem::Problem& problem);

candidate::CompileRequest compile_request(const PreparedJob& prepared, const std::filesystem::path& source);

/// What this device's verdict cannot say (DESIGN.md section 8), one line; empty for cuda.
std::string cannot_tell(launch::Device device);

}  // namespace pkb::cli
