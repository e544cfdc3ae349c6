// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/scalar.h"

namespace pkb::ref {

/// Four words as Philox's counter and result.
struct Words4 {
  std::uint32_t word[4];
};

/// Philox-4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
PKB_HD inline Words4 philox4x32(Words4 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t odd = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = {
        {static_cast<std::uint32_t>(odd >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(odd),
         static_cast<std::uint32_t>(even >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(even)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

}  // namespace pkb::ref
