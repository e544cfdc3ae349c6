// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pkb::candidate {

/// The PATH on which nvcc finds the host's compiler.
inline constexpr const char* kCompilerPath = "/usr/bin:/bin";

/// The CUDA toolkit this program was built with, unless CUDA_HOME names another that has a bin/nvcc.
std::filesystem::path default_toolkit();

/// Root of a toolkit with bin/nvcc, symbolic links resolved. @throws EnvironmentError with the remedy.
std::filesystem::path resolve_toolkit(const std::filesystem::path& root);

/// Changes whenever the compilers behind `root` change: paths, sizes and times of nvcc, of its device
/// compilers and of the host compiler, and version.json where the toolkit has one. Runs nothing.
std::string compiler_identity(const std::filesystem::path& root);

}  // namespace pkb::candidate
