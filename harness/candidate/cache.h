// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace pkb::candidate {

/// $XDG_CACHE_HOME/pkb, or ~/.cache/pkb. @throws EnvironmentError when neither variable is set.
std::filesystem::path default_cache();

/// A folder that is removed at the end. It lies in the cache, so that what is made in it can be renamed
/// there.
class ScratchFolder {
 public:
  /// @throws EnvironmentError when the cache cannot be written.
  explicit ScratchFolder(const std::filesystem::path& cache);
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  const std::filesystem::path& path() const { return x_path; }
  /// Makes a folder in it. @throws EnvironmentError
  std::filesystem::path make(const std::string& name) const;

 private:
  std::filesystem::path x_path;
};

/// Compiled libraries by key. An entry is a folder that appears by one rename, so any number of processes may
/// use the cache at once; the digest in it tells an entry that a crash or a full disk has torn.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder);

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
  std::filesystem::path x_folder;
};

}  // namespace pkb::candidate
