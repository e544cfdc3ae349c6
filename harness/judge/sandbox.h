// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/launch/child.h"

/// The walls around a worker: bubblewrap, started with an environment of its own.
namespace pkb::judge {

/// What the worker may see and use.
struct Cell {
  std::filesystem::path program;    ///< "/worker" inside
  std::filesystem::path candidate;  ///< "/candidate.so" inside
  bool gpu = false;                 ///< the NVIDIA devices, the CUDA runtime and the driver's libraries
  std::filesystem::path mps_pipes;  ///< of a GPU's MPS daemon; empty for none
  std::uint64_t memory = 0;         ///< bytes of private data; 0 for no limit
};

/// How bubblewrap can be used on this machine. Some containers refuse user namespaces or a fresh /proc.
struct SandboxMeans {
  enum class Proc : std::uint8_t {
    fresh,  ///< of the worker's own process namespace
    none,
    outer,  ///< read-only; a GPU's driver cannot do without
  };
  std::filesystem::path bwrap;
  bool user_namespace = true;
  Proc proc = Proc::fresh;
};
std::string_view name_of(SandboxMeans::Proc proc);

/// Finds by trial what works here. @throws EnvironmentError that says what is missing and how to get it.
SandboxMeans find_sandbox(bool gpu);
/// Why `find_sandbox` would throw; empty when a sandbox works.
std::string sandbox_fault();

/// The command that starts the worker inside. Its arguments name paths inside.
launch::Command confined(const Cell& cell, const SandboxMeans& means);
/// The command that starts it with nothing but limits and a clean environment.
launch::Command unconfined(const Cell& cell);
/// Where the worker finds the candidate.
std::string candidate_path(const Cell& cell, bool is_confined);

}  // namespace pkb::judge
