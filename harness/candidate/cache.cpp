// SPDX-License-Identifier: Apache-2.0
#include "harness/candidate/cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "harness/candidate/digest.h"
#include "harness/candidate/source.h"
#include "harness/error/error.h"

namespace pkb::candidate {
namespace {

constexpr const char *kLibrary = "candidate.so", *kText = "compiler.txt", *kDigest = "sha256";
constexpr const char* kScratch = "tmp.";
/// Older scratch folders belong to processes that were killed, here or on a host that shares the cache: no compilation
/// lasts that long.
constexpr std::chrono::hours kStale{24};
/// An evaluation may still be loading what was found so long ago.
constexpr std::chrono::hours kInUse{1};
using FileClock = std::filesystem::file_time_type::clock;

EnvironmentError unwritable(const std::filesystem::path& path, const std::string& reason) {
  return EnvironmentError({path.string(), fmt::format("cannot be written: {}", reason),
                           "free some space, or set XDG_CACHE_HOME to a folder that can be written"});
}

void remove_stale(const std::filesystem::path& cache) {
  const auto now = FileClock::now();
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
  try {
    x_folder.emplace(cache, kScratch);
  } catch (const std::system_error& error) {
    throw unwritable(cache, error.code().message());
  }
}

std::filesystem::path ScratchFolder::make(const std::string& name) const {
  std::error_code failed;
  std::filesystem::create_directory(path() / name, failed);
  if (failed) throw unwritable(path() / name, failed.message());
  return path() / name;
}

Cache::Cache(std::filesystem::path folder, std::uint64_t most_bytes)
    : x_folder(std::move(folder)), x_most_bytes(most_bytes) {}

std::optional<Cache::Entry> Cache::find(const std::string& key) const {
  const std::filesystem::path entry = x_folder / key;
  if (!std::filesystem::exists(entry)) return std::nullopt;
  try {
    std::error_code ignored;  // of a cache that cannot be written now
    std::filesystem::last_write_time(entry / kDigest, FileClock::now(), ignored);
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
  evict();
  return {.library = entry / kLibrary, .text = text};
}

void Cache::evict() const {
  struct Used {
    std::filesystem::file_time_type last;
    std::uint64_t bytes;
    std::filesystem::path entry;
  };
  std::vector<Used> all;
  std::uint64_t total = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(x_folder, failed)) {
    std::error_code gone, sizeless;
    const Used used{.last = std::filesystem::last_write_time(entry.path() / kDigest, gone),
                    .bytes = std::filesystem::file_size(entry.path() / kLibrary, sizeless),
                    .entry = entry.path()};
    if (gone || sizeless) continue;  // a scratch folder, or an entry that another process has just removed
    total += used.bytes;
    all.push_back(used);
  }
  std::ranges::sort(all, {}, &Used::last);
  for (const Used& each : all) {
    if (total <= x_most_bytes || FileClock::now() - each.last < kInUse) return;
    std::filesystem::remove_all(each.entry, failed);
    total -= each.bytes;
  }
}

}  // namespace pkb::candidate
