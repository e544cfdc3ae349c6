// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/virtual_gpu/exec/instruction.h"
#include "harness/virtual_gpu/exec/warp.h"

namespace pkb::virtual_gpu {

/// An mbarrier object (PTX ISA 9.7.13.15), which is 64 bits of shared memory in a layout of ours. Its phase
/// completes when no arrivals and no transaction bytes are pending. What it is asked to do against the rules
/// comes back as the rest of a sentence that begins with "mbarrier at ...".
class Mbarrier {
 public:
  using Misuse = std::optional<std::string>;
  static constexpr std::uint32_t kMost = (1u << 20) - 1;  ///< of a count, and of transaction bytes

  explicit Mbarrier(std::uint64_t bits) : x_bits(bits) {}
  static Mbarrier invalidated() { return Mbarrier(kInvalidated << kMark); }

  bool is_invalidated() const { return x_bits == invalidated().bits(); }

  std::uint64_t bits() const { return x_bits; }
  bool phase() const { return (x_bits >> 63) != 0; }
  std::uint32_t expected() const { return static_cast<std::uint32_t>(x_bits) & kMost; }
  std::uint32_t pending() const { return static_cast<std::uint32_t>(x_bits >> 20) & kMost; }
  std::int32_t transactions() const {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(x_bits >> 40) << 11) >> 11;
  }

  Misuse initialise(std::uint32_t count);
  /// What is wrong with using the object at all.
  Misuse unusable() const;
  struct Arrival {
    std::uint32_t count = 1;
    bool drops = false;          ///< also out of the phases that follow
    bool may_complete = true;
  };
  Misuse arrive(const Arrival& arrival);
  /// One more arrival is awaited in this phase.
  Misuse await(std::uint32_t count);
  Misuse expect(std::uint32_t bytes);
  Misuse complete(std::uint32_t bytes);

 private:
  static constexpr unsigned kMark = 61;
  static constexpr std::uint64_t kLive = 1, kInvalidated = 2;

  void set(bool phase, std::uint32_t pending, std::uint32_t expected, std::int64_t transactions);
  Misuse add(std::int64_t bytes);
  void advance();

  std::uint64_t x_bits;
};

/// `bytes` of a copy that `lane` issued by `in` have arrived, and the mbarrier at a shared::cluster address counts
/// them. False after a fault.
bool complete_transactions(Warp& warp, const Instruction& in, int lane, std::uint64_t address,
                           std::uint32_t bytes);
/// The copies that `count` threads issued before `in` have arrived, and they do at the mbarrier. False after a
/// fault.
bool arrive_after_copies(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint32_t count);

}  // namespace pkb::virtual_gpu
