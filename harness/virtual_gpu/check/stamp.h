// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

/// Data races by happens-before: who accessed a piece of memory, when, and who knows of it.
namespace pkb::virtual_gpu::check {

/// Whom a strong access or fence reaches (PTX ISA, "Scope").
enum class Scope : std::uint8_t { cta, cluster, gpu, sys };
inline constexpr int kScopes = 4;

/// Warps of a block, and behind them the agents of its asynchronous copies.
inline constexpr std::uint32_t kWarps = 32, kAgents = 64;
/// Agents of copies that complete in groups, each numbered by the issuing warp: cp.async, and the reads and
/// the writes of bulk copies. Those before them belong to mbarriers.
inline constexpr std::uint32_t kFirstGroupAgent = 61, kAsyncGroup = 61, kBulkReads = 62, kBulkWrites = 63;

/// Blocks of a run, of all ranks, are numbered in one space, which the ranks share out.
inline constexpr int kBlockBits = 21, kRankBits = 4;
inline constexpr std::uint32_t kBlocksPerRank = 1u << (kBlockBits - kRankBits);
inline constexpr int kMostRanks = 1 << kRankBits;
/// Moments of a block: it counts its synchronising operations.
inline constexpr int kTimeBits = 26;
inline constexpr std::uint32_t kLastTime = (1u << kTimeBits) - 1;

/// A thread in a block in a run, packed: block, agent, lane.
using Thread = std::uint32_t;
constexpr Thread thread_of(std::uint32_t block, std::uint32_t agent, std::uint32_t lane) {
  return block << 11 | agent << 5 | lane;
}
constexpr std::uint32_t block_of(Thread thread) { return thread >> 11; }
constexpr std::uint32_t agent_of(Thread thread) { return thread >> 5 & (kAgents - 1); }
constexpr std::uint32_t lane_of(Thread thread) { return thread & 31; }
constexpr std::uint32_t rank_of(std::uint32_t block) { return block / kBlocksPerRank; }

/// How the bytes of a weak access spread over the lanes of its warp: each lane has 2^spread bytes, one lane
/// after the other; or one lane has all.
inline constexpr std::uint32_t kOneLane = 5;

/// One access, packed into a word so that processes exchange it: time, the first thread, and how it was done.
/// 0 is no access.
struct Stamp {
  std::uint64_t bits = 0;

  static constexpr Stamp of(Thread thread, std::uint32_t time) {
    return {std::uint64_t{time} << 38 | std::uint64_t{thread} << 6 | kOneLane};
  }
  constexpr Stamp strong(Scope scope) const {
    return {(bits & ~std::uint64_t{0xf}) | 0x20 | static_cast<std::uint64_t>(scope)};
  }
  constexpr Stamp spread_by(std::uint32_t spread) const { return {(bits & ~std::uint64_t{0xf}) | spread}; }
  constexpr Stamp writing() const { return {bits | 0x10}; }
  constexpr Stamp by(Thread thread) const {
    return {(bits & ~(std::uint64_t{0xffffffff} << 6)) | std::uint64_t{thread} << 6};
  }

  constexpr bool none() const { return bits == 0; }
  constexpr std::uint32_t time() const { return static_cast<std::uint32_t>(bits >> 38); }
  constexpr Thread thread() const { return static_cast<Thread>(bits >> 6); }
  constexpr bool is_strong() const { return (bits & 0x20) != 0; }
  constexpr Scope scope() const { return static_cast<Scope>(bits & 3); }
  constexpr std::uint32_t spread() const {
    return is_strong() ? kOneLane : static_cast<std::uint32_t>(bits & 0xf);
  }
  constexpr bool writes() const { return (bits & 0x10) != 0; }
  /// Time and warp, the same for all that one warp did at one time.
  constexpr std::uint64_t moment() const { return bits >> 11; }
  bool operator==(const Stamp&) const = default;
};

/// Whether `scope` around a thread of block `a` includes one of block `b`. Of two blocks' cluster only the
/// ledger knows (Ledger::includes).
constexpr bool includes(Scope scope, std::uint32_t a, std::uint32_t b) {
  switch (scope) {
    case Scope::cta:
    case Scope::cluster:
      return a == b;
    case Scope::gpu:
      return rank_of(a) == rank_of(b);
    case Scope::sys:
      return true;
  }
  return true;
}

}  // namespace pkb::virtual_gpu::check
