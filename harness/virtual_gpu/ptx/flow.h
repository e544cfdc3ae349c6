// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {

/// How control leaves a statement.
enum class Control : std::uint8_t { next, branch, indexed_branch, leave };
Control control_of(const Statement& statement);

struct BasicBlock {
  static constexpr std::uint32_t kNone = ~0u;
  std::uint32_t begin = 0, end = 0;  ///< statements of the body
  std::uint32_t next = kNone;        ///< the block that control falls into
  std::vector<std::uint32_t> jumps;  ///< blocks that the last statement may branch to
  std::uint32_t leads_to = kNone;    ///< itself, or where it goes when it is nothing but a branch
};

/// The blocks in the order of the text; the first is the entry. When control can reach the end of the body,
/// the last block is empty and stands there.
/// @throws ParseError for a branch to something that is no label of a statement
std::vector<BasicBlock> basic_blocks(const Function& function);

/// The blocks that can be reached, in the order that Layout promises: topological but for back edges, every
/// loop contiguous, otherwise as in the text. The entry is first.
std::vector<std::uint32_t> thread_frontier_order(const std::vector<BasicBlock>& blocks);

}  // namespace pkb::virtual_gpu::ptx
