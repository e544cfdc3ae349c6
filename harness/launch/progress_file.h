// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace pkb::launch {

/// Hears what the judges are doing: "trial 2 of 5: run".
using Progress = std::function<void(std::string_view)>;

/// Lines that judge 0 appends to a file in the run folder, as they come.
class ProgressFile {
 public:
  explicit ProgressFile(std::filesystem::path path) : x_path(std::move(path)) {}

  /// Tells `progress` each line that was added since the last call.
  void report(const Progress& progress) {
    if (!x_file.is_open()) x_file.open(x_path);
    if (!x_file.is_open()) return;
    x_file.clear();
    for (char c; x_file.get(c);) {
      if (c != '\n') {
        x_line += c;
        continue;
      }
      progress(x_line);
      x_line.clear();
    }
  }

 private:
  std::filesystem::path x_path;
  std::ifstream x_file;
  std::string x_line;
};

}  // namespace pkb::launch
