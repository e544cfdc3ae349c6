// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

/// Where the parts of this installation are: found from the running executable, so that a tree may be moved.
namespace pkb::cli {

struct Installation {
  std::filesystem::path source;    ///< the repository
  std::filesystem::path binaries;  ///< pkb-judge and the workers, beside pkb
  std::filesystem::path build;     ///< problem libraries and generated headers

  std::filesystem::path problems() const { return source / "problems"; }
  /// Results of this machine; what is worth publishing is copied to results/.
  std::filesystem::path results() const { return source / "results" / "local"; }
  /// What `pkb calibrate` measured on this machine, once it has.
  std::filesystem::path calibration() const { return results() / "calibration" / "calibration.json"; }
};

/// @throws EnvironmentError when a part is missing.
Installation installation();

}  // namespace pkb::cli
