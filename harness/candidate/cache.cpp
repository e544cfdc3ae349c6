// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/cache.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "harness/candidate/digest.h"
#include "harness/candidate/source.h"
#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

constexpr const char *kLibrary = "candidate.so", *kText = "compiler.txt", *kDigest = "sha256";
constexpr const char* kScratch = "tmp.";
/// Older scratch folders belong to processes that were killed: no compilation lasts that long.
constexpr std::chrono::hours kStale{24};

EnvironmentError unwritable(const std::filesystem::path& path, const std::string& reason) {
  return EnvironmentError({path.string(), fmt::format("cannot be written: {}", reason),
                           "free some space, or set XDG_CACHE_HOME to a folder that can be written"});
}

void remove_stale(const std::filesystem::path& cache) {
  const auto now = std::filesystem::file_time_type::clock::now();
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(cache, failed)) {
    if (!entry.path().filename().string().starts_with(kScratch)) continue;
    const auto written = entry.last_write_time(failed);
    if (!failed && now - written > kStale) std::filesystem::remove_all(entry.path(), failed);
  }
}

}  // namespace

std::filesystem::path default_cache() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::filesystem::path(cache) / "pkb";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return std::filesystem::path(home) / ".cache" / "pkb";
  throw EnvironmentError(
      {"HOME", "is not set, so there is no place for compiled candidates", "set XDG_CACHE_HOME"});
}

ScratchFolder::ScratchFolder(const std::filesystem::path& cache) {
  std::error_code failed;
  std::filesystem::create_directories(cache, failed);
  if (failed) throw unwritable(cache, failed.message());
  remove_stale(cache);
  std::string name = (cache / kScratch).string() + "XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw unwritable(cache, std::strerror(errno));
  x_path = name;
}

std::filesystem::path ScratchFolder::make(const std::string& name) const {
  std::error_code failed;
  std::filesystem::create_directory(x_path / name, failed);
  if (failed) throw unwritable(x_path / name, failed.message());
  return x_path / name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(x_path, ignored);
}

Cache::Cache(std::filesystem::path folder) : x_folder(std::move(folder)) {}

std::optional<Cache::Entry> Cache::find(const std::string& key) const {
  const std::filesystem::path entry = x_folder / key;
  if (!std::filesystem::exists(entry)) return std::nullopt;
  try {
    if (sha256(read_file(entry / kLibrary)) == read_file(entry / kDigest))
      return Entry{.library = entry / kLibrary, .text = read_file(entry / kText)};
  } catch (const EnvironmentError&) {
    // A file is missing: torn as well.
  }
  std::error_code ignored;
  std::filesystem::remove_all(entry, ignored);
  return std::nullopt;
}

Cache::Entry Cache::store(const std::string& key, const ScratchFolder& scratch,
                          const std::filesystem::path& library, const std::string& text) const {
  const std::filesystem::path made = scratch.make("entry"), entry = x_folder / key;
  std::error_code failed;
  std::filesystem::rename(library, made / kLibrary, failed);
  if (failed) throw unwritable(made, failed.message());
  write_file(made / kText, text);
  write_file(made / kDigest, sha256(read_file(made / kLibrary)));
  std::filesystem::rename(made, entry, failed);
  // Another process stored the same key first; its entry is as good.
  if (failed && failed != std::errc::directory_not_empty && failed != std::errc::file_exists)
    throw unwritable(entry, failed.message());
  return {.library = entry / kLibrary, .text = text};
}

}  // namespace pkb::candidate
