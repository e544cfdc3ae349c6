// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/sandbox/sandbox.h"

namespace pkb::candidate {

/// What a compiler may see. Paths on the right of a pair are where the sandbox shows them.
struct CompilerView {
  std::filesystem::path toolkit;                                         ///< shown where it is
  std::vector<std::pair<std::filesystem::path, std::string>> read_only;  ///< files and folders
  std::pair<std::filesystem::path, std::string> output;                  ///< the one folder it may write
  std::string folder;                                                    ///< where it starts
};

/// A command line of bubblewrap, to be followed by the compiler's: the system's compilers and `view` and
/// nothing else of the file system, a private /tmp of 1 GiB, the filter of system calls that is open as descriptor 3.
std::vector<std::string> confined(const CompilerView& view, const sandbox::Means& means);

}  // namespace pkb::candidate
