// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/check/shadow.h"

namespace pkb::virtual_gpu::check {

/// The accesses to a block's shared memory. The warps read the same tiles, so every warp notes its reads in a column
/// of its own: a coalesced read is one straight run of stores.
class SharedShadow {
 public:
  explicit SharedShadow(std::uint64_t bytes);

  struct Write {
    Stamp stamp;
    PlaceId place = 0;
  };
  /// Time, lane and place of a warp's last read of a granule; 0 for none.
  struct Read {
    std::uint64_t bits = 0;
    static constexpr Read of(std::uint32_t time, std::uint32_t lane, PlaceId place) {
      return {std::uint64_t{time} << 38 | std::uint64_t{lane} << 32 | place};
    }
    constexpr bool none() const { return bits == 0; }
    constexpr std::uint32_t time() const { return static_cast<std::uint32_t>(bits >> 38); }
    constexpr std::uint32_t lane() const { return static_cast<std::uint32_t>(bits >> 32 & 31); }
    constexpr PlaceId place() const { return static_cast<PlaceId>(bits); }
  };

  std::uint64_t granules() const { return x_writes.size(); }
  Write& write(std::uint64_t granule) { return x_writes[granule]; }
  Read* reads(std::uint32_t agent) { return x_reads[agent].empty() ? make_reads(agent) : x_reads[agent].data(); }
  /// Agents that have read anything.
  std::uint64_t readers() const { return x_readers; }
  /// Reads by other blocks of the cluster.
  std::vector<Write>* foreign(std::uint64_t granule) {
    const auto found = x_foreign.find(granule);
    return found == x_foreign.end() ? nullptr : &found->second;
  }
  void note_foreign(std::uint64_t granule, Stamp stamp, PlaceId place) {
    std::vector<Write>& all = x_foreign[granule];
    for (Write& each : all)
      if (each.stamp.thread() == stamp.thread()) {
        each = {stamp, place};
        return;
      }
    all.push_back({stamp, place});
  }

 private:
  Read* make_reads(std::uint32_t agent);

  std::vector<Write> x_writes;
  std::array<std::vector<Read>, kAgents> x_reads;
  std::uint64_t x_readers = 0;
  std::unordered_map<std::uint64_t, std::vector<Write>> x_foreign;
};

}  // namespace pkb::virtual_gpu::check
