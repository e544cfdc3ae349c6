// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace pkb::virtual_gpu {

struct Instruction;

/// Four warps that execute wgmma together, and the asynchronous operations which they have begun (PTX ISA
/// 9.7.15). An operation is carried out as soon as all four warps have come to it, which is one of the times
/// at which the hardware may do so. Until a warp has waited for it, the operation may still read shared
/// memory, and the registers that it names may not be touched: it stays in the list.
class Warpgroup {
 public:
  static constexpr std::uint32_t kWarps = 4;

  struct Operation {
    const Instruction* instruction = nullptr;
    std::uint64_t a = 0, b = 0;  ///< descriptors; of A if it lies in shared memory
    std::array<std::uint32_t, kWarps> group{};  ///< number of the group that a warp committed it to, or 0
    std::uint32_t waited = 0;                   ///< warps that have waited for it, a bit each
  };

  /// Warp `member` (0 to 3) has come to `instruction`.
  enum class Arrival : std::uint8_t { waits, last, elsewhere };
  Arrival arrive(std::uint32_t member, const Instruction* instruction);
  void begin(Operation operation) { x_pending.push_back(operation); }
  /// What `member` has begun since its last commit becomes a group.
  void commit(std::uint32_t member);
  /// `member` waits until at most `left` of its latest groups are pending.
  void wait(std::uint32_t member, std::uint32_t left);
  /// Operations that some warp has not waited for.
  const std::vector<Operation>& pending() const { return x_pending; }

 private:
  const Instruction* x_place = nullptr;  ///< where the warps gather
  std::uint32_t x_arrived = 0;
  std::array<std::uint32_t, kWarps> x_groups{};  ///< committed by each warp
  std::vector<Operation> x_pending;
};

}  // namespace pkb::virtual_gpu
