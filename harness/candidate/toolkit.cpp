// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/toolkit.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "harness/candidate/source.h"
#include "harness/error/error.h"
#include "harness/process/executable.h"

namespace pkb::candidate {
namespace {

std::string identity_of(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(file, failed);
  struct stat facts {};
  if (failed || stat(real.c_str(), &facts) != 0) return file.string() + " is missing\n";
  return fmt::format("{} {} {}.{:09}\n", real.string(), facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
}

}  // namespace

std::filesystem::path default_toolkit() {
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != '\0')
    if (access((std::filesystem::path(home) / "bin" / "nvcc").c_str(), X_OK) == 0) return home;
  return PKB_CUDA_ROOT;
}

std::filesystem::path resolve_toolkit(const std::filesystem::path& root) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(root, failed);
  if (failed || access((real / "bin" / "nvcc").c_str(), X_OK) != 0)
    throw EnvironmentError({root.string(), "there is no bin/nvcc",
                            "install the CUDA toolkit 13, or set CUDA_HOME to its folder"});
  return real;
}

std::string compiler_identity(const std::filesystem::path& root) {
  std::string identity;
  for (const char* program : {"bin/nvcc", "bin/ptxas", "bin/cudafe++", "bin/fatbinary", "nvvm/bin/cicc"})
    identity += identity_of(root / program);
  for (const char* program : {"g++", "as", "ld"})
    identity += identity_of(process::find_executable(program, kCompilerPath).value_or(program));
  const std::filesystem::path version = root / "version.json";
  if (std::filesystem::exists(version)) identity += read_file(version);
  return identity;
}

}  // namespace pkb::candidate
