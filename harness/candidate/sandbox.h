// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pkb::candidate {

/// What a compiler may see. Paths on the right of a pair are where the sandbox shows them.
struct CompilerView {
  std::filesystem::path toolkit;                                         ///< shown where it is
  std::vector<std::pair<std::filesystem::path, std::string>> read_only;  ///< files and folders
  std::pair<std::filesystem::path, std::string> output;                  ///< the one folder it may write
  std::string folder;                                                    ///< where it starts
};

/// A bubblewrap command line, to be followed by the compiler's: no network, no other process visible, the
/// system's compilers and libraries and `view` and nothing else of the file system, a private /tmp of 1 GiB
/// that vanishes. @throws EnvironmentError when bubblewrap is not installed.
std::vector<std::string> bubblewrap(const CompilerView& view);

}  // namespace pkb::candidate
