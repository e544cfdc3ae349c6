// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/liveness.h"

#include <algorithm>
#include <utility>

#include "harness/virtual_gpu/ptx/access.h"

namespace pkb::virtual_gpu::ptx {
namespace {

enum class Event : std::uint8_t { read, write, guarded_write };

struct Occurrence {
  std::uint32_t position;
  Event event;
};

// Walks the blocks once per register instead of keeping a set of registers per block: most registers of PTX
// live inside one block, and the sets of the others would take blocks times registers.
class Liveness {
 public:
  Liveness(const std::vector<Statement>& body, const std::vector<PlacedBlock>& blocks, std::size_t registers)
      : x_blocks(blocks), x_predecessors(blocks.size()), x_marks(blocks.size()), x_begin(registers + 1) {
    for (std::uint32_t block = 0; block < blocks.size(); ++block)
      for (const std::uint32_t successor : blocks[block].successors)
        x_predecessors[successor].push_back(block);
    x_block_of.resize(body.size());
    for (std::uint32_t block = 0; block < blocks.size(); ++block)
      std::fill(x_block_of.begin() + blocks[block].begin, x_block_of.begin() + blocks[block].end, block);
    collect(body);
  }

  Interval interval(std::uint32_t reg) {
    const auto begin = x_occurrences.begin() + x_begin[reg], end = x_occurrences.begin() + x_begin[reg + 1];
    if (begin == end) return {};
    if (std::none_of(begin, end, [](const Occurrence& o) { return o.event != Event::read; }))
      return {0, std::uint32_t(x_block_of.size()) - 1};  // never written, so live everywhere
    Interval result{begin->position, (end - 1)->position};
    ++x_stamp;
    x_live.clear();
    x_written.clear();
    for (auto first = begin; first != end;) {
      const std::uint32_t block = x_block_of[first->position];
      bool exposed = false, killed = false, written = false;
      for (; first != end && x_block_of[first->position] == block; ++first) {
        exposed |= first->event == Event::read && !killed;
        killed |= first->event == Event::write;
        written |= first->event != Event::read;
      }
      if (killed) x_marks[block].killed = x_stamp;
      if (written) x_marks[block].written = x_stamp, x_written.push_back(block);
      if (exposed) make_live(block);
    }
    for (std::size_t i = 0; i < x_live.size(); ++i)
      for (const std::uint32_t predecessor : x_predecessors[x_live[i]])
        if (x_marks[predecessor].killed != x_stamp) make_live(predecessor);

    bool everywhere = true;
    if (x_marks[0].live ==
        x_stamp) {  // on some path it is not written before: usually one write under a guard
      spread_writes();
      everywhere = read_unwritten(begin, end);
    }
    for (const std::uint32_t block : x_live) {
      if (!everywhere && x_marks[block].reached != x_stamp) continue;
      result.first = std::min(result.first, x_blocks[block].begin);
      for (const std::uint32_t predecessor : x_predecessors[block]) {
        const Marks& marks = x_marks[predecessor];
        const PlacedBlock& before = x_blocks[predecessor];
        if (before.end > before.begin && (everywhere || marks.reached == x_stamp || marks.written == x_stamp))
          result.last = std::max(result.last, before.end - 1);
      }
    }
    return result;
  }

 private:
  // Facts about one register, true where they equal x_stamp.
  struct Marks {
    std::uint32_t live = 0;     // at the block's begin
    std::uint32_t reached = 0;  // at the block's begin, by a write on some path
    std::uint32_t killed = 0, written = 0;
  };
  using Iterator = std::vector<Occurrence>::const_iterator;

  void collect(const std::vector<Statement>& body) {
    std::vector<std::pair<std::uint32_t, Occurrence>> found;
    for (std::uint32_t i = 0; i < body.size(); ++i) {
      const Event write = body[i].guard ? Event::guarded_write : Event::write;
      const std::size_t first = found.size();
      const auto note = [&](std::uint32_t reg, Event event) { found.push_back({reg, {i, event}}); };
      visit_registers(
          body[i], [&](std::uint32_t reg) { note(reg, Event::read); },
          [&](std::uint32_t reg) { note(reg, write); });
      std::stable_partition(found.begin() + std::ptrdiff_t(first), found.end(),
                            [](const auto& entry) { return entry.second.event == Event::read; });
    }
    for (const auto& entry : found) ++x_begin[entry.first + 1];
    for (std::size_t reg = 1; reg < x_begin.size(); ++reg) x_begin[reg] += x_begin[reg - 1];
    std::vector<std::size_t> next(x_begin.begin(), x_begin.end());
    x_occurrences.resize(found.size());
    for (const auto& entry : found) x_occurrences[next[entry.first]++] = entry.second;
  }

  void make_live(std::uint32_t block) {
    if (std::exchange(x_marks[block].live, x_stamp) != x_stamp) x_live.push_back(block);
  }

  // Marks the blocks that some write reaches. Uses x_written up.
  void spread_writes() {
    while (!x_written.empty()) {
      const std::uint32_t block = x_written.back();
      x_written.pop_back();
      for (const std::uint32_t successor : x_blocks[block].successors)
        if (std::exchange(x_marks[successor].reached, x_stamp) != x_stamp) x_written.push_back(successor);
    }
  }

  // Is the register read where no write of any path has come before?
  bool read_unwritten(Iterator begin, Iterator end) const {
    for (auto first = begin; first != end;) {
      const std::uint32_t block = x_block_of[first->position];
      if (first->event == Event::read && x_marks[block].reached != x_stamp) return true;
      while (first != end && x_block_of[first->position] == block) ++first;
    }
    return false;
  }

  const std::vector<PlacedBlock>& x_blocks;
  std::vector<std::vector<std::uint32_t>> x_predecessors;
  std::vector<Marks> x_marks;
  std::uint32_t x_stamp = 0;
  std::vector<std::uint32_t> x_live;      // blocks at whose begin the register is live
  std::vector<std::uint32_t> x_written;   // blocks that write it
  std::vector<std::uint32_t> x_block_of;  // by position
  std::vector<std::size_t> x_begin;       // by register, into x_occurrences
  std::vector<Occurrence> x_occurrences;  // of a register by position, reads before writes
};

}  // namespace

std::vector<Interval> live_intervals(const std::vector<Statement>& body,
                                     const std::vector<PlacedBlock>& blocks, std::size_t registers) {
  Liveness liveness(body, blocks, registers);
  std::vector<Interval> intervals(registers);
  for (std::uint32_t reg = 0; reg < registers; ++reg) intervals[reg] = liveness.interval(reg);
  return intervals;
}

}  // namespace pkb::virtual_gpu::ptx
