// SPDX-License-Identifier: Apache-2.0
#include "harness/process/executable.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace pkb::process {

std::optional<std::filesystem::path> find_executable(std::string_view name) {
  const char* const path = std::getenv("PATH");
  return find_executable(name, path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
}

std::optional<std::filesystem::path> find_executable(std::string_view name, const std::string& folders) {
  std::istringstream each(folders);
  for (std::string folder; std::getline(each, folder, ':');) {
    const std::filesystem::path candidate = std::filesystem::path(folder) / name;
    std::error_code ignored;
    if (candidate.is_absolute() && std::filesystem::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
  }
  return std::nullopt;
}

std::filesystem::path own_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path(); }

}  // namespace pkb::process
