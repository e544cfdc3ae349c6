// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/virtual_gpu/check/entry.h"

namespace pkb::virtual_gpu::check {

/// What is known about the accesses to a sector in this run. An entry may be a list, kept in the ledger.
struct Sector {
  Entry write;  ///< the last to each byte
  Entry other;  ///< what a later write may conflict with: reads, and strong writes before the last
  /// Where the Refs of the records stand that belong to the last strong writes, by the granule in which a
  /// write starts; 0 for none.
  Ref records = 0;
  std::uint32_t unused = 0;
};
static_assert(sizeof(Sector) == 40);

/// Bytes whose records share a place, and of which one that is written makes all known: padding between
/// members is copied with them.
inline constexpr std::uint64_t kGranule = 2;

/// Memory that sectors need for as many bytes.
constexpr std::uint64_t sector_bytes(std::uint64_t bytes) {
  return (bytes + kSector - 1) / kSector * sizeof(Sector);
}

/// An allocation as the checks see it.
class Shadow {
 public:
  enum class Kind : std::uint8_t {
    input,      ///< not to be written by kernels, so nothing is recorded
    output,     ///< holds nothing when a run starts
    symmetric,  ///< zeroed in the beginning
    scratch,    ///< this process's own; holds nothing when allocated
    other,      ///< this process's own, initialised: variables, host memory
  };
  /// `sectors` for `bytes`, zeroed, of the caller; null: made here.
  Shadow(Kind kind, std::string name, std::uint64_t bytes, int owner, Sector* sectors);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  Kind kind() const { return x_kind; }
  const std::string& name() const { return x_name; }
  int owner() const { return x_owner; }
  std::uint64_t bytes() const { return x_bytes; }
  /// Null when nothing is recorded.
  Sector* sectors() const { return x_sectors; }
  std::uint64_t sector_count() const { return (x_bytes + kSector - 1) / kSector; }
  /// Forgets the accesses. For shared memory the owner calls it, while no rank runs anything.
  void clear();

  bool tracks_initialisation() const { return x_kind == Kind::scratch; }
  void mark_written(std::uint64_t offset, std::uint64_t bytes);
  bool is_written(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  Kind x_kind;
  std::string x_name;
  std::uint64_t x_bytes;
  int x_owner;
  Sector* x_sectors;
  bool x_own_sectors;
  std::vector<std::uint64_t> x_written;  ///< a bit a byte
};

}  // namespace pkb::virtual_gpu::check
