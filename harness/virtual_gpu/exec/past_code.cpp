// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/past_code.h"

#include <utility>

#include "harness/virtual_gpu/exec/control.h"
#include "harness/virtual_gpu/exec/instruction.h"

namespace pkb::virtual_gpu {
namespace {

using Edges = std::vector<std::vector<std::uint32_t>>;

std::vector<bool> reachable(const Edges& edges, std::uint32_t from) {
  std::vector<bool> seen(edges.size());
  std::vector<std::uint32_t> open = edges[from];
  while (!open.empty()) {
    const std::uint32_t at = open.back();
    open.pop_back();
    if (seen[at]) continue;
    seen[at] = true;
    open.insert(open.end(), edges[at].begin(), edges[at].end());
  }
  return seen;
}

std::vector<bool> past(const Kernel& kernel, std::uint32_t from) {
  Edges next(kernel.code.size()), before(kernel.code.size());
  for (std::uint32_t i = 0; i < next.size(); ++i) {
    next[i] = successors(kernel, i);
    for (const std::uint32_t to : next[i]) before[to].push_back(i);
  }
  std::vector<bool> found = reachable(next, from);
  const std::vector<bool> back = reachable(before, from);
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = found[i] && !back[i];
  return found;
}

}  // namespace

bool PastCode::is_past(const Kernel& kernel, const Instruction& from, const Instruction& at) {
  std::lock_guard lock(x_mutex);
  const Instruction* const code = kernel.code.data();
  auto known = x_past.find(&from);
  if (known == x_past.end())
    known = x_past.emplace(&from, past(kernel, static_cast<std::uint32_t>(&from - code))).first;
  return known->second[static_cast<std::size_t>(&at - code)];
}

}  // namespace pkb::virtual_gpu
