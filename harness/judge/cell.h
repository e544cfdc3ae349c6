// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "harness/process/child.h"
#include "harness/sandbox/sandbox.h"

/// The cell of a worker: what it may see and use, and an environment of its own.
namespace pkb::judge {

/// What the worker may see and use.
struct Cell {
  std::filesystem::path program;    ///< "/worker" inside
  std::filesystem::path candidate;  ///< "/candidate.so" inside
  bool gpu = false;                 ///< the NVIDIA devices, the CUDA runtime and the driver's libraries
  std::filesystem::path mps_pipes;  ///< of a GPU's MPS daemon; empty for none
  std::uint64_t memory = 0;         ///< bytes of private data, 0 for no limit; of shared memory it gets half as many
};

/// How a sandbox for such a worker works on this machine. @throws EnvironmentError
sandbox::Means find_means(const std::filesystem::path& bwrap, bool gpu);
/// The command that starts the worker inside. Its arguments name paths inside.
process::Command confined(const Cell& cell, const sandbox::Means& means);
/// The command that starts it with nothing but limits and a clean environment.
process::Command unconfined(const Cell& cell);
/// Where the worker finds the candidate.
std::string candidate_path(const Cell& cell, bool is_confined);

}  // namespace pkb::judge
