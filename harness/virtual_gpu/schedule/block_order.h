// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace pkb::virtual_gpu {

/// A mixed 64-bit hash of two numbers (the finaliser of SplitMix64), never 0.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return x == 0 ? 1 : x;
}

/// The order in which a grid's blocks start: as numbered for seed 0, otherwise a permutation chosen by the seed.
class BlockOrder {
 public:
  BlockOrder(std::uint64_t count, std::uint64_t seed) : x_count(count), x_seed(seed) {
    while ((std::uint64_t{1} << (2 * x_half)) < count) ++x_half;
  }

  /// The block that starts as number `turn`.
  std::uint64_t operator[](std::uint64_t turn) const {
    if (x_seed == 0 || x_half == 0) return turn;
    // A Feistel network permutes the next power of four; walking its cycle stays within `count`.
    do turn = permute(turn);
    while (turn >= x_count);
    return turn;
  }

 private:
  std::uint64_t permute(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << x_half) - 1;
    std::uint64_t left = value >> x_half, right = value & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (mix(x_seed + round, right) & mask);
      left = right;
      right = next;
    }
    return (left << x_half) | right;
  }

  std::uint64_t x_count, x_seed;
  int x_half = 0;  ///< bits in half a number
};

}  // namespace pkb::virtual_gpu
