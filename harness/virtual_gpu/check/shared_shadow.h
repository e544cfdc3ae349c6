// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/virtual_gpu/check/entry.h"

namespace pkb::virtual_gpu::check {

inline const std::string kSharedMemory = "shared memory";

/// The accesses to a block's shared memory. The warps read the same tiles, so every agent notes its reads in
/// a column of its own. Entries may be lists, kept in lists().
class SharedShadow {
 public:
  explicit SharedShadow(std::uint64_t bytes) : x_last((bytes + kSector - 1) / kSector) {}

  LocalLists& lists() { return x_lists; }
  std::uint64_t sectors() const { return x_last.size(); }
  struct Last {
    Entry write;             ///< to each byte
    std::uint32_t read = 0;  ///< when the last one by this block was
  };
  Last& last(std::uint64_t sector) { return x_last[sector]; }
  /// An agent's last read of each byte, by sector.
  Entry* reads(std::uint32_t agent) {
    std::vector<Entry>& column = x_reads[agent];
    if (column.empty()) {
      column.resize(x_last.size());
      x_readers |= std::uint64_t{1} << agent;
    }
    return column.data();
  }
  /// Agents that have read anything.
  std::uint64_t readers() const { return x_readers; }
  /// Reads by other blocks of the cluster; null for none.
  Entry* foreign(std::uint64_t sector) {
    if (x_foreign.empty()) return nullptr;
    const auto found = x_foreign.find(sector);
    return found == x_foreign.end() ? nullptr : &found->second;
  }
  Entry& new_foreign(std::uint64_t sector) { return x_foreign[sector]; }

 private:
  std::vector<Last> x_last;
  std::array<std::vector<Entry>, kAgents> x_reads;
  std::uint64_t x_readers = 0;
  std::unordered_map<std::uint64_t, Entry> x_foreign;
  LocalLists x_lists;
};

}  // namespace pkb::virtual_gpu::check
