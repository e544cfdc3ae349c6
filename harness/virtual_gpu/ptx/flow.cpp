// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <utility>

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr std::uint32_t kNone = BasicBlock::kNone;

// Calls `visit` with the body position of every label that `statement` may branch to.
template <class Visit>
void visit_targets(const Function& function, const Statement& statement, Visit&& visit) {
  const auto position = [&](const std::string& name) {
    const auto label = function.labels.find(name);
    if (label == function.labels.end())
      throw ParseError(fmt::format("PTX line {}: '{}' is no label of a statement", statement.ptx_line, name));
    return label->second;
  };
  const Control control = control_of(statement);
  if (control == Control::branch) {
    if (statement.operands.size() != 1 || statement.operands[0].kind != Operand::Kind::label)
      throw ParseError(fmt::format("PTX line {}: branch without a label", statement.ptx_line));
    visit(position(statement.operands[0].name));
  } else if (control == Control::indexed_branch) {
    if (statement.operands.size() != 2)
      throw ParseError(fmt::format("PTX line {}: indexed branch without its list", statement.ptx_line));
    const auto list = function.branch_targets.find(statement.operands[1].name);
    if (list == function.branch_targets.end())
      throw ParseError(fmt::format("PTX line {}: '{}' is no list of branch targets", statement.ptx_line,
                                   statement.operands[1].name));
    for (const std::string& name : list->second) visit(position(name));
  }
}

// Orders blocks by taking loops apart from the outside in: the strongly connected components of a region are
// its outermost loops. They are sorted topologically; inside each, the edges back to its header are then
// ignored.
class Order {
 public:
  explicit Order(const std::vector<BasicBlock>& blocks)
      : x_successors(blocks.size()), x_predecessors(blocks.size()), x_state(blocks.size()) {
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      std::vector<std::uint32_t>& successors = x_successors[block];
      successors = blocks[block].jumps;
      if (blocks[block].next != kNone) successors.push_back(blocks[block].next);
      std::sort(successors.begin(), successors.end());
      successors.erase(std::unique(successors.begin(), successors.end()), successors.end());
    }
  }

  std::vector<std::uint32_t> run() {
    std::vector<Region> work{{reachable(), kNone}};
    for (const std::uint32_t block : work[0].blocks)
      for (const std::uint32_t successor : x_successors[block]) x_predecessors[successor].push_back(block);
    std::vector<std::uint32_t> order;
    while (!work.empty()) {
      const Region region = std::move(work.back());
      work.pop_back();
      if (region.blocks.size() == 1) {
        order.push_back(region.blocks[0]);
        continue;
      }
      std::vector<Region> parts = sorted_components(region);
      std::move(parts.rbegin(), parts.rend(), std::back_inserter(work));
    }
    return order;
  }

 private:
  struct Region {
    std::vector<std::uint32_t> blocks;  // ascending
    std::uint32_t header;               // edges to it are ignored
  };
  struct State {
    std::uint32_t region = 0, component = 0, number = 0, low = 0;
  };

  std::vector<std::uint32_t> reachable() const {
    std::vector<char> seen(x_successors.size());
    std::vector<std::uint32_t> found{0};
    seen[0] = true;
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const std::uint32_t successor : x_successors[found[i]])
        if (!std::exchange(seen[successor], true)) found.push_back(successor);
    std::sort(found.begin(), found.end());
    return found;
  }

  bool inside(const Region& region, std::uint32_t block) const {
    return block != region.header && x_state[block].region == x_region;
  }

  std::vector<Region> sorted_components(const Region& region) {
    ++x_region;
    for (const std::uint32_t block : region.blocks) x_state[block] = {x_region, kNone, kNone, kNone};
    const std::uint32_t count = find_components(region);
    std::vector<Region> components(count, Region{{}, kNone});
    for (const std::uint32_t block : region.blocks)
      components[x_state[block].component].blocks.push_back(block);

    std::vector<std::uint32_t> waiting_for(count);
    for (const std::uint32_t block : region.blocks)
      for (const std::uint32_t successor : x_successors[block])
        if (inside(region, successor) && x_state[successor].component != x_state[block].component)
          ++waiting_for[x_state[successor].component];
    using Ready = std::pair<std::uint32_t, std::uint32_t>;  // first block in the text, component
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < count; ++i)
      if (waiting_for[i] == 0) ready.emplace(components[i].blocks[0], i);
    std::vector<Region> sorted;
    while (!ready.empty()) {
      const std::uint32_t component = ready.top().second;
      ready.pop();
      for (const std::uint32_t block : components[component].blocks)
        for (const std::uint32_t successor : x_successors[block]) {
          const std::uint32_t other = x_state[successor].component;
          if (inside(region, successor) && other != component && --waiting_for[other] == 0)
            ready.emplace(components[other].blocks[0], other);
        }
      components[component].header = header_of(components[component], component);
      sorted.push_back(std::move(components[component]));
    }
    return sorted;
  }

  // Where a loop is entered; of an irreducible loop's entries the first in the text.
  std::uint32_t header_of(const Region& loop, std::uint32_t component) const {
    for (const std::uint32_t block : loop.blocks) {
      if (block == 0) return block;
      for (const std::uint32_t predecessor : x_predecessors[block])
        if (x_state[predecessor].region != x_region || x_state[predecessor].component != component)
          return block;
    }
    return loop.blocks[0];
  }

  // Tarjan's algorithm without recursion: nvcc unrolls into chains of many thousand blocks.
  std::uint32_t find_components(const Region& region) {
    struct Frame {
      std::uint32_t block;
      std::size_t next = 0;
    };
    std::vector<Frame> path;
    std::vector<std::uint32_t> open;
    std::uint32_t number = 0, components = 0;
    const auto enter = [&](std::uint32_t block) {
      x_state[block].number = x_state[block].low = number++;
      open.push_back(block);
      path.push_back({block});
    };
    for (const std::uint32_t root : region.blocks) {
      if (x_state[root].number != kNone) continue;
      enter(root);
      while (!path.empty()) {
        const std::uint32_t block = path.back().block;
        State& state = x_state[block];
        if (path.back().next < x_successors[block].size()) {
          const std::uint32_t successor = x_successors[block][path.back().next++];
          if (!inside(region, successor)) continue;
          if (x_state[successor].number == kNone)
            enter(successor);
          else if (x_state[successor].component == kNone)
            state.low = std::min(state.low, x_state[successor].number);
          continue;
        }
        path.pop_back();
        if (!path.empty()) {
          State& parent = x_state[path.back().block];
          parent.low = std::min(parent.low, state.low);
        }
        if (state.low != state.number) continue;
        for (std::uint32_t member = kNone; member != block;) {
          member = open.back();
          open.pop_back();
          x_state[member].component = components;
        }
        ++components;
      }
    }
    return components;
  }

  std::vector<std::vector<std::uint32_t>> x_successors, x_predecessors;
  std::vector<State> x_state;
  std::uint32_t x_region = 0;
};

// A branch to a block that only branches on goes where that one goes: nvcc writes many.
void skip_lone_branches(const Function& function, std::vector<BasicBlock>& blocks) {
  const auto lone = [&](const BasicBlock& block) {
    return block.end - block.begin == 1 && block.jumps.size() == 1 && block.next == kNone &&
           control_of(function.body[block.begin]) == Control::branch;
  };
  enum class State : std::uint8_t { fresh, on_chain, settled };
  std::vector<State> states(blocks.size());
  std::vector<std::uint32_t> chain;
  for (std::uint32_t start = 0; start < blocks.size(); ++start) {
    chain.clear();
    std::uint32_t at = start;
    while (states[at] == State::fresh && lone(blocks[at])) {
      chain.push_back(at);
      states[at] = State::on_chain;
      at = blocks[at].jumps[0];
    }
    // A ring of lone branches is a loop without end: its blocks stay.
    const bool ring = states[at] == State::on_chain;
    for (const std::uint32_t block : chain) {
      if (!ring) blocks[block].leads_to = blocks[at].leads_to;
      states[block] = State::settled;
    }
  }
  for (BasicBlock& block : blocks) {
    if (block.next != kNone) block.next = blocks[block.next].leads_to;
    for (std::uint32_t& jump : block.jumps) jump = blocks[jump].leads_to;
  }
}

}  // namespace

Control control_of(const Statement& statement) {
  const std::string_view opcode = statement.opcode;
  const std::string_view family = opcode.substr(0, opcode.find('.'));
  if (family == "bra") return Control::branch;
  if (family == "brx") return Control::indexed_branch;
  if (family == "ret" || family == "exit") return Control::leave;
  return Control::next;
}

std::vector<BasicBlock> basic_blocks(const Function& function) {
  const auto size = std::uint32_t(function.body.size());
  std::vector<std::uint32_t> block_at(size + 1, kNone);  // first: 0 where a block begins
  block_at[0] = 0;
  for (std::uint32_t i = 0; i < size; ++i) {
    const Statement& statement = function.body[i];
    visit_targets(function, statement, [&](std::uint32_t target) { block_at[target] = 0; });
    const Control control = control_of(statement);
    if (control == Control::branch || control == Control::indexed_branch ||
        (control == Control::leave && !statement.guard))
      block_at[i + 1] = 0;
  }
  block_at[size] = 0;
  std::vector<BasicBlock> blocks;
  for (std::uint32_t i = 0; i <= size; ++i) {
    if (block_at[i] == kNone) continue;
    if (!blocks.empty()) blocks.back().end = i;
    block_at[i] = std::uint32_t(blocks.size());
    blocks.push_back({.begin = i, .end = size, .next = kNone, .jumps = {}, .leads_to = block_at[i]});
  }
  for (std::uint32_t block = 0; block + 1 < blocks.size(); ++block) {
    const Statement& last = function.body[blocks[block].end - 1];
    visit_targets(function, last,
                  [&](std::uint32_t target) { blocks[block].jumps.push_back(block_at[target]); });
    if (last.guard || control_of(last) == Control::next) blocks[block].next = block + 1;
  }
  skip_lone_branches(function, blocks);
  return blocks;
}

std::vector<std::uint32_t> thread_frontier_order(const std::vector<BasicBlock>& blocks) {
  return Order(blocks).run();
}

}  // namespace pkb::virtual_gpu::ptx
