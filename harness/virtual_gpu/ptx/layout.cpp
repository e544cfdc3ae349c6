// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <queue>

#include "harness/virtual_gpu/ptx/flow.h"
#include "harness/virtual_gpu/ptx/liveness.h"
#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

constexpr std::uint32_t kNone = BasicBlock::kNone;
static_assert(kNone == Layout::kNone);

// Writes the blocks out in their new order and mends the control flow between them.
class Placement {
 public:
  Placement(const Function& function, Layout& layout)
      : x_function(function), x_layout(layout), x_blocks(basic_blocks(function)), x_names(x_blocks.size()) {
    std::vector<std::uint32_t> block_at(function.body.size() + 1, kNone);
    for (std::uint32_t block = 0; block < x_blocks.size(); ++block) block_at[x_blocks[block].begin] = block;
    for (const auto& [name, position] : function.labels) {
      const std::uint32_t block = block_at[position];
      if (block == kNone) continue;  // nobody branches there
      x_labels.emplace_back(&name, x_blocks[block].leads_to);
      if (!x_names[block] || name < *x_names[block]) x_names[block] = &name;
    }
  }

  /// Fills body, target and labels of the layout.
  std::vector<PlacedBlock> place() {
    const std::vector<std::uint32_t> order = thread_frontier_order(x_blocks);
    std::vector<std::uint32_t> place_of(x_blocks.size(), kNone);
    for (std::uint32_t i = 0; i < order.size(); ++i) place_of[order[i]] = i;
    std::vector<PlacedBlock> placed(order.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
      placed[i].begin = std::uint32_t(x_layout.body.size());
      write_block(order[i], i + 1 < order.size() ? order[i + 1] : kNone);
      placed[i].end = std::uint32_t(x_layout.body.size());
      const BasicBlock& block = x_blocks[order[i]];
      for (const std::uint32_t jump : block.jumps) placed[i].successors.push_back(place_of[jump]);
      if (block.next != kNone) placed[i].successors.push_back(place_of[block.next]);
    }
    for (std::uint32_t& target : x_layout.target)
      if (target != kNone) target = placed[place_of[target]].begin;
    for (const auto& [name, block] : x_labels)
      if (place_of[block] != kNone) x_layout.labels.emplace(*name, placed[place_of[block]].begin);
    return placed;
  }

 private:
  // `following` is the block that will stand behind; targets are block numbers until all are placed.
  void write_block(std::uint32_t number, std::uint32_t following) {
    const BasicBlock& block = x_blocks[number];
    for (std::uint32_t i = block.begin; i < block.end; ++i) append(x_function.body[i], kNone);
    if (block.begin == x_function.body.size()) {  // the end of the text
      Statement leave;
      leave.opcode = "ret";
      return append(std::move(leave), kNone);
    }
    std::vector<Statement>& body = x_layout.body;
    if (control_of(body.back()) == Control::branch) {
      const std::uint32_t target = block.jumps[0];
      if (target == block.next || (block.next == kNone && target == following)) {
        body.pop_back();
        x_layout.target.pop_back();
        if (target != following) append_branch(number, target);
        return;
      }
      x_layout.target.back() = target;
      if (block.next != kNone && block.next != following && target == following) {
        body.back().guard->negated = !body.back().guard->negated;
        body.back().operands[0].name = name_of_block(block.next);
        x_layout.target.back() = block.next;
        return;
      }
    }
    if (block.next != kNone && block.next != following) append_branch(number, block.next);
  }

  void append(Statement statement, std::uint32_t target) {
    x_layout.body.push_back(std::move(statement));
    x_layout.target.push_back(target);
  }

  void append_branch(std::uint32_t from, std::uint32_t to) {
    const Statement& last = x_function.body[x_blocks[from].end - 1];
    Statement branch;
    branch.opcode = "bra.uni";
    branch.ptx_line = last.ptx_line;
    branch.file = last.file;
    branch.line = last.line;
    Operand& label = branch.operands.emplace_back();
    label.kind = Operand::Kind::label;
    label.name = name_of_block(to);
    append(std::move(branch), to);
  }

  std::string name_of_block(std::uint32_t block) const {
    return x_names[block] ? *x_names[block] : std::string();
  }

  const Function& x_function;
  Layout& x_layout;
  const std::vector<BasicBlock> x_blocks;
  std::vector<const std::string*> x_names;  // by block; null where only fall-through leads there
  std::vector<std::pair<const std::string*, std::uint32_t>> x_labels;
};

// Bytes of a register in a warp's register file.
std::uint32_t slot_bytes(Type type) {
  if (type == Type::pred) return 4;
  const std::size_t size = size_of(type);
  return size > 8 ? 512 : size > 4 ? 256 : 128;
}

// Linear scan: registers in the order in which they come alive take the slot of their size that has been free
// longest.
void assign_slots(const Function& function, const std::vector<Interval>& intervals, Layout& layout) {
  constexpr std::array<std::uint32_t, 4> kSizes = {512, 256, 128,
                                                   4};  // the widest first: all are aligned to themselves
  struct Class {
    using Busy = std::pair<std::uint32_t, std::uint32_t>;  // until which position, slot
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::uint32_t slots = 0;
  };
  std::array<Class, kSizes.size()> classes;
  const auto class_of = [&](std::uint32_t reg) {
    return std::size_t(std::find(kSizes.begin(), kSizes.end(), slot_bytes(function.registers[reg].type)) -
                       kSizes.begin());
  };
  std::vector<std::uint32_t> sorted;
  for (std::uint32_t reg = 0; reg < intervals.size(); ++reg)
    if (intervals[reg].first != Interval::kNever) sorted.push_back(reg);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return intervals[a].first < intervals[b].first; });
  layout.slot.assign(intervals.size(), kNone);
  for (const std::uint32_t reg : sorted) {
    Class& kind = classes[class_of(reg)];
    std::uint32_t slot = kind.slots;
    if (!kind.busy.empty() && kind.busy.top().first < intervals[reg].first) {
      slot = kind.busy.top().second;
      kind.busy.pop();
    } else {
      ++kind.slots;
    }
    kind.busy.emplace(intervals[reg].last, slot);
    layout.slot[reg] = slot;
  }
  std::array<std::uint32_t, kSizes.size()> base{};
  for (std::size_t i = 0; i < kSizes.size(); ++i) {
    base[i] = layout.register_bytes;
    layout.register_bytes += classes[i].slots * kSizes[i];
  }
  layout.register_bytes = (layout.register_bytes + 127) / 128 * 128;
  for (const std::uint32_t reg : sorted) {
    const std::size_t kind = class_of(reg);
    layout.slot[reg] = base[kind] + layout.slot[reg] * kSizes[kind];
  }
}

}  // namespace

Layout lay_out(const Function& function) {
  Layout layout;
  const std::vector<PlacedBlock> blocks = Placement(function, layout).place();
  assign_slots(function, live_intervals(layout.body, blocks, function.registers.size()), layout);
  return layout;
}

}  // namespace pkb::virtual_gpu::ptx
