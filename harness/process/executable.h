// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace pkb::process {

/// The absolute path of program `name` on the PATH.
std::optional<std::filesystem::path> find_executable(std::string_view name);
/// The same in `folders`, separated by colons.
std::optional<std::filesystem::path> find_executable(std::string_view name, const std::string& folders);

/// The folder that this process's own executable lies in.
std::filesystem::path own_folder();

}  // namespace pkb::process
