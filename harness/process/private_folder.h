// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "harness/process/file_descriptor.h"

namespace pkb::process {

/// A new folder PARENT/PREFIXxxxxxx that only this user can read, removed with all it holds at the end. A
/// killed process leaves its folder; the next one of the same user and host that makes one beside it removes
/// it.
class PrivateFolder {
 public:
  /// @throws std::system_error
  PrivateFolder(const std::filesystem::path& parent, const std::string& prefix);
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;

  const std::filesystem::path& path() const { return x_path; }

 private:
  std::filesystem::path x_path;
  FileDescriptor x_lock;  ///< of a file in it, as long as the owner lives
};

}  // namespace pkb::process
