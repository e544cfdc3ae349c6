// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/check/stamp.h"

namespace pkb::virtual_gpu::check {

/// Bytes that share a cell. Neighbouring 16-bit elements belong to different threads all the time, neighbouring
/// bytes rarely; a stamp says which of the two it is about.
inline constexpr std::uint64_t kGranule = 2;

/// What is known about the accesses to a granule in this run.
struct Cell {
  std::uint64_t write = 0;  ///< Stamp of the last one
  /// Stamp of another access that a later one may conflict with: a read, or a strong write before the last. More
  /// than one: the time is kLastTime and the thread's place holds the Ref of their list.
  std::uint64_t other = 0;
  PlaceId write_place = 0, other_place = 0;
  Ref record = 0;  ///< of the last strong write that starts here
  std::uint32_t unused = 0;
};
static_assert(sizeof(Cell) == 32);
inline constexpr std::uint64_t kCellsPerByte = sizeof(Cell) / kGranule;

/// An allocation as the checks see it.
class Shadow {
 public:
  enum class Kind : std::uint8_t {
    input,     ///< never written while kernels run, so nothing is recorded
    output,    ///< holds nothing when a run starts
    symmetric, ///< zeroed in the beginning
    scratch,   ///< this process's own; holds nothing when allocated
    other,     ///< this process's own, initialised: variables, host memory
  };
  /// `cells` for `bytes`, zeroed, of the caller; null: made here.
  Shadow(Kind kind, std::string name, std::uint64_t bytes, int owner, Cell* cells);
  ~Shadow();
  Shadow(const Shadow&) = delete;
  Shadow& operator=(const Shadow&) = delete;

  Kind kind() const { return x_kind; }
  const std::string& name() const { return x_name; }
  int owner() const { return x_owner; }
  std::uint64_t bytes() const { return x_bytes; }
  Cell* cells() const { return x_cells; }
  /// Forgets the accesses. For shared memory the owner calls it, while no rank runs anything.
  void clear();

  /// Something has written here that the checks do not follow: from now on all of it counts as initialised.
  void trust() { x_trusted = true; }
  bool is_trusted() const { return x_trusted; }
  bool tracks_initialisation() const { return x_kind == Kind::scratch; }
  void mark_written(std::uint64_t offset, std::uint64_t bytes);
  bool is_written(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  std::uint64_t granules() const { return (x_bytes + kGranule - 1) / kGranule; }

  Kind x_kind;
  std::string x_name;
  std::uint64_t x_bytes;
  int x_owner;
  Cell* x_cells;
  bool x_own_cells;
  std::atomic<bool> x_trusted = false;
  std::vector<std::uint8_t> x_written;  ///< a bit a byte
};

}  // namespace pkb::virtual_gpu::check
