// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/process/run_limited.h"
#include "reference/dtype.h"

/// Candidates: what they include, and how they become libraries (DESIGN.md section 7).
namespace pkb::candidate {

enum class Sandbox : std::uint8_t { bubblewrap, none };

struct CompileRequest {
  std::filesystem::path source;  ///< the .cu file
  int problem = 0;               ///< id; the header of another problem is refused by an #error
  DType dtype = DType::bf16;     ///< bf16, f16 or f32
  /// The product's headers: the generated ones and harness/candidate/include. They come first.
  std::vector<std::filesystem::path> include_folders;
  std::filesystem::path toolkit;     ///< empty: default_toolkit()
  std::string architecture = "90a";  ///< machine code and PTX for it
  std::filesystem::path cache;       ///< empty: $XDG_CACHE_HOME/pkb or ~/.cache/pkb
  process::Limits limits;
  Sandbox sandbox = Sandbox::bubblewrap;
  std::filesystem::path bwrap = {};  ///< empty: the first on the PATH
};

struct CompileResult {
  bool ok = false;
  std::filesystem::path library;     ///< in the cache, when ok
  std::string text;                  ///< what the compiler printed: errors, or warnings
  std::string limit;                 ///< when a limit ended it, a sentence that says which
  std::string source;                ///< the text that was compiled
  std::string source_hash;           ///< SHA-256 of the source file
  std::string key;                   ///< of the cache: source, headers, flags and compilers
  std::vector<std::string> command;  ///< nvcc and its arguments, as the sandbox sees them
  double seconds = 0;
  bool cached = false;
};

/// Compiles a candidate to a shared library without a CUDA runtime, or finds it in the cache. A source that
/// does not compile is a result, not an exception.
/// @throws InputError when the source is no readable UTF-8 file.
/// @throws EnvironmentError when there is no compiler or no sandbox, or the cache cannot be written.
CompileResult compile(const CompileRequest& request);

}  // namespace pkb::candidate
