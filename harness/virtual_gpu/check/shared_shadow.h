// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/check/ledger.h"
#include "harness/virtual_gpu/check/shadow.h"

namespace pkb::virtual_gpu::check {

/// The accesses to a block's shared memory. The warps read the same tiles, so every warp notes its reads in a column
/// of its own: a coalesced read is one straight run of stores.
class SharedShadow {
 public:
  SharedShadow(std::uint64_t bytes, std::uint32_t warps);

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
  std::uint32_t warps() const { return static_cast<std::uint32_t>(x_reads.size()); }
  Write& write(std::uint64_t granule) { return x_writes[granule]; }
  Read* reads(std::uint32_t warp) { return x_reads[warp].empty() ? make_reads(warp) : x_reads[warp].data(); }
  bool has_reads(std::uint32_t warp) const { return !x_reads[warp].empty(); }

 private:
  Read* make_reads(std::uint32_t warp) {
    x_reads[warp].resize(granules());
    return x_reads[warp].data();
  }
  std::vector<Write> x_writes;
  std::vector<std::vector<Read>> x_reads;
};

}  // namespace pkb::virtual_gpu::check
