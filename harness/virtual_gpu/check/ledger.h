// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/virtual_gpu/check/stamp.h"

namespace pkb::virtual_gpu::check {

/// A source line of some rank's kernel, 0 for none.
using PlaceId = std::uint32_t;
/// Words in some rank's ledger, 0 for none.
using Ref = std::uint32_t;

/// What the ranks tell each other about their accesses, in memory that all of them map: each rank writes into its
/// own part and reads everybody's. A candidate could scribble over it; that can only spoil the diagnosis of its own
/// races, so what is read is checked for sense and nothing else.
class Ledger {
 public:
  /// Size of a rank's part; mostly untouched, so it costs little.
  static constexpr std::size_t kBytes = std::size_t{1} << 28;

  /// `parts` by rank, zeroed at first; they outlive the ledger.
  Ledger(std::vector<std::byte*> parts, int rank);

  int rank() const { return x_rank; }
  int ranks() const { return static_cast<int>(x_parts.size()); }

  /// Forgets this rank's launches and words. Called between runs, while no rank runs anything.
  void clear();
  /// Checking ends for this run on all ranks, since something needed did not fit; the first reason counts.
  void stop(std::string_view why);
  bool stopped() const;
  std::string why_stopped() const;

  struct Launch {
    std::uint32_t first = 0, end = 0;  ///< blocks
    std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1}, cluster[3] = {1, 1, 1};
    char name[144] = {};               ///< the kernel's, or what a copy does
  };
  /// Numbers the blocks of a launch: nothing, and stops, when numbers have run out.
  std::optional<std::uint32_t> add_launch(Launch launch, std::uint64_t blocks);
  /// The launch that has `block`, also of another rank.
  std::optional<Launch> launch_of(std::uint32_t block) const;
  /// Whether `scope` around a thread of block `a` includes one of block `b`.
  bool includes(Scope scope, std::uint32_t a, std::uint32_t b) const {
    return check::includes(scope, a, b) || (scope == Scope::cluster && in_one_cluster(a, b));
  }

  struct Place {
    char file[96] = {};
    char inner[48] = {};  ///< "b.cuh:7" where the line calls what was inlined from there
    char opcode[48] = {};
    std::uint32_t line = 0;
  };
  PlaceId add_place(const Place& place);
  std::optional<Place> place(PlaceId id) const;

  /// Keeps words until they are dropped or all is cleared; 0, and stops, when they do not fit.
  Ref keep(std::span<const std::uint32_t> words);
  /// Nothing refers to them any more, on no rank. Whose they are does not matter.
  void drop(Ref ref);
  /// Tells apart what is kept at the same place one after the other.
  std::uint32_t serial(Ref ref) const;
  std::span<const std::uint32_t> words(Ref ref) const;
  /// The same, to be changed under a lock.
  std::span<std::uint32_t> words(Ref ref);

  /// Guards the accesses to a stretch of memory, among all ranks.
  class Lock {
   public:
    Lock(const Ledger& ledger, int owner, std::uint64_t offset);
    ~Lock() { x_word->store(0, std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic<std::uint32_t>* x_word;
  };
  static constexpr int kLockShift = 12;  ///< stretches of this many bytes, as a power of two, have one lock

 private:
  struct Part;
  bool in_one_cluster(std::uint32_t a, std::uint32_t b) const;
  Part& own() const;
  Part& part(int rank) const { return *reinterpret_cast<Part*>(x_parts[static_cast<std::size_t>(rank)]); }
  std::uint32_t* entry(Ref ref) const;

  std::vector<std::byte*> x_parts;
  int x_rank;
};

}  // namespace pkb::virtual_gpu::check
