// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace pkb::candidate {

/// A candidate's source, read once: what is hashed is what is compiled, whatever happens to the file
/// meanwhile.
struct Source {
  std::string text;
  /// The name that the compiler sees and prints: the file's own, with '_' for whatever is not a letter,
  /// digit, dot, dash or underscore, because nvcc hands it to a shell.
  std::string name;
};

/// @throws InputError when there is no such file, or it is a folder, empty, unreadable, larger than 4 MiB or
/// not UTF-8 text.
Source read_source(const std::filesystem::path& path);

/// The whole file. @throws EnvironmentError
std::string read_file(const std::filesystem::path& path);
/// @throws EnvironmentError, of a full disk for example
void write_file(const std::filesystem::path& path, const std::string& text);

}  // namespace pkb::candidate
