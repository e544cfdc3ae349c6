// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/process/private_folder.h"

namespace pkb::candidate {

/// $XDG_CACHE_HOME/pkb, or ~/.cache/pkb. @throws EnvironmentError when neither variable is set.
std::filesystem::path default_cache();

/// A folder that is removed at the end, or after a kill by the next one. It lies in the cache, so that what is made in
/// it can be renamed there.
class ScratchFolder {
 public:
  /// @throws EnvironmentError when the cache cannot be written.
  explicit ScratchFolder(const std::filesystem::path& cache);
  const std::filesystem::path& path() const { return x_folder->path(); }
  /// Makes a folder in it. @throws EnvironmentError
  std::filesystem::path make(const std::string& name) const;

 private:
  std::optional<process::PrivateFolder> x_folder;
};

/// Compiled libraries by key. An entry is a folder that appears by one rename, so any number of processes may
/// use the cache at once; the digest in it tells an entry that a crash or a full disk has torn. Beyond `most_bytes`
/// those that were not used for longest go, but none that was used within the last hour.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder, std::uint64_t most_bytes = std::uint64_t{2} << 30);

  struct Entry {
    std::filesystem::path library;
    std::string text;  ///< what the compiler printed
  };
  /// Nothing when there is no whole entry; a torn one is removed.
  std::optional<Entry> find(const std::string& key) const;
  /// Moves `library`, which lies in `scratch`, into the cache. @throws EnvironmentError
  Entry store(const std::string& key, const ScratchFolder& scratch, const std::filesystem::path& library,
              const std::string& text) const;

 private:
  void evict() const;

  std::filesystem::path x_folder;
  std::uint64_t x_most_bytes;
};

}  // namespace pkb::candidate
