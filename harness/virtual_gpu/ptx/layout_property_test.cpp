// SPDX-License-Identifier: Apache-2.0
// Checks layouts of random and real functions by what a layout promises, not by how it is made: no blocks, no
// intervals, no component algorithm here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream(std::string(PKB_PTX_TESTDATA) + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool is_branch(const Statement& s) { return s.opcode.starts_with("bra"); }
bool is_indexed(const Statement& s) { return s.opcode.starts_with("brx"); }
bool leaves(const Statement& s) { return s.opcode == "ret" || s.opcode == "exit"; }

void registers_in(const Operand& operand, std::vector<std::uint32_t>& out) {
  if (operand.kind == Operand::Kind::reg || operand.has_base) out.push_back(operand.index);
  for (const Operand& element : operand.elements) registers_in(element, out);
}

struct Uses {
  std::vector<std::uint32_t> read, written;
};

// Good for what the random programs and the stored kernels contain.
Uses uses(const Statement& s) {
  static const std::set<std::string> kNoDestination = {"st", "bar", "bra", "brx", "call", "wmma.store"};
  const std::string family = s.opcode.substr(0, s.opcode.find('.'));
  const bool none = kNoDestination.contains(family) || s.opcode.starts_with("wmma.store");
  Uses result;
  if (s.guard) result.read.push_back(s.guard->reg);
  for (std::size_t i = 0; i < s.operands.size(); ++i)
    registers_in(s.operands[i], i == 0 && !none ? result.written : result.read);
  return result;
}

// One lane walks through the text and through the layout. Each guard holds or not by chance, but the same in
// both walks: it depends on the line in the text and on how often that was met.
class Walk {
 public:
  Walk(const Function& function, const Layout& layout, std::uint32_t seed)
      : x_function(function), x_layout(layout), x_seed(seed) {
    for (const Statement& s : function.body)
      for (const std::uint32_t reg : uses(s).written) x_ever_written.insert(reg);
  }

  /// Lines of the statements met, branches apart.
  std::vector<std::uint32_t> text() {
    return walk(
        x_function.body,
        [&](std::size_t pc, const std::string& name) {
          return name.empty() ? x_function.labels.at(x_function.body[pc].operands[0].name)
                              : x_function.labels.at(name);
        },
        [](const Statement&, bool) {});
  }

  std::vector<std::uint32_t> layout() {
    std::map<std::uint32_t, std::uint64_t> ideal, real;  // by register, by slot
    std::uint64_t fresh = 0;
    return walk(
        x_layout.body,
        [&](std::size_t pc, const std::string& name) {
          return name.empty() ? x_layout.target[pc] : x_layout.labels.at(name);
        },
        [&](const Statement& s, bool holds) {
          const Uses u = uses(s);
          for (const std::uint32_t reg : u.read) {
            const bool has_value = ideal.contains(reg) || !x_ever_written.contains(reg);
            if (has_value && ideal[reg] != real[x_layout.slot.at(reg)])
              lost =
                  fmt::format("line {}: {} has lost its value", s.ptx_line, x_function.registers[reg].name);
          }
          for (const std::uint32_t reg : u.written)
            if (holds) ideal[reg] = real[x_layout.slot.at(reg)] = ++fresh;
        });
  }

  std::string lost;  ///< the last complaint of layout()

 private:
  static constexpr std::size_t kLongest = 600;

  template <class Target, class Execute>
  std::vector<std::uint32_t> walk(const std::vector<Statement>& body, Target target, Execute execute) {
    std::vector<std::uint32_t> lines;
    std::map<std::uint32_t, std::uint32_t> visits;
    std::size_t steps = 0;
    for (std::size_t pc = 0; pc < body.size() && lines.size() < kLongest && ++steps < 20 * kLongest;) {
      const Statement& s = body[pc];
      std::uint32_t chance = 0;
      bool holds = true;
      if (s.guard || is_indexed(s)) {
        chance = std::minstd_rand(x_seed + 7919 * s.ptx_line + 104729 * visits[s.ptx_line]++)() >> 8;
        if (s.guard) {
          // Of an inverted branch the guard is negated in one of the two walks.
          const bool value = chance & 1;
          holds = value != s.guard->negated;
        }
      }
      execute(s, holds);
      if (!is_branch(s) && !(leaves(s) && !s.guard)) lines.push_back(s.ptx_line);
      if (holds && leaves(s)) break;
      if (holds && is_branch(s)) {
        pc = target(pc, "");
      } else if (holds && is_indexed(s)) {
        const auto& list = x_function.branch_targets.at(s.operands[1].name);
        pc = target(pc, list[(chance >> 1) % list.size()]);
      } else {
        ++pc;
      }
    }
    return lines;
  }

  const Function& x_function;
  const Layout& x_layout;
  std::uint32_t x_seed;
  std::set<std::uint32_t> x_ever_written;
};

// Positions reach each other over any number of steps.
class Reach {
 public:
  Reach(const std::vector<std::vector<std::uint32_t>>& successors, const std::vector<std::uint32_t>& region,
        std::uint32_t without_edges_to)
      : x_to(successors.size()) {
    const std::set<std::uint32_t> inside(region.begin(), region.end());
    for (const std::uint32_t from : region) {
      std::vector<std::uint32_t> work{from};
      while (!work.empty()) {
        const std::uint32_t at = work.back();
        work.pop_back();
        for (const std::uint32_t next : successors[at])
          if (next != without_edges_to && inside.contains(next) && x_to[from].insert(next).second)
            work.push_back(next);
      }
    }
  }
  bool operator()(std::uint32_t from, std::uint32_t to) const { return x_to[from].contains(to); }

 private:
  std::vector<std::set<std::uint32_t>> x_to;
};

// Every loop is contiguous, and nothing outside a loop leads back; then the same inside each loop.
std::string order_fault(const std::vector<std::vector<std::uint32_t>>& successors,
                        const std::vector<std::uint32_t>& region, std::uint32_t header) {
  const Reach reach(successors, region, header);
  for (std::size_t i = 0; i < region.size();) {
    std::size_t end = i + 1;
    for (std::size_t j = i + 1; j < region.size(); ++j) {
      if (!reach(region[j], region[i])) continue;
      if (!reach(region[i], region[j])) return fmt::format("{} leads back to {}", region[j], region[i]);
      if (j != end++) return fmt::format("the loop of {} has a gap before {}", region[i], region[j]);
    }
    if (end - i > 1) {
      const std::vector<std::uint32_t> loop(region.begin() + std::ptrdiff_t(i),
                                            region.begin() + std::ptrdiff_t(end));
      if (std::string fault = order_fault(successors, loop, region[i]); !fault.empty()) return fault;
    }
    i = end;
  }
  return "";
}

std::string order_fault(const Function& function, const Layout& layout) {
  // A branch that always holds is an edge rather than a place: one that leaves a loop stands inside it.
  const auto lone = [&](std::uint32_t at) { return is_branch(layout.body[at]) && !layout.body[at].guard; };
  const auto settle = [&](std::uint32_t at) {
    for (int hops = 0; lone(at) && hops < 100; ++hops) at = layout.target[at];
    return at;
  };
  std::vector<std::vector<std::uint32_t>> successors(layout.body.size());
  std::vector<std::uint32_t> places;
  for (std::uint32_t i = 0; i < layout.body.size(); ++i) {
    const Statement& s = layout.body[i];
    if (lone(i)) continue;
    places.push_back(i);
    if (is_branch(s)) successors[i].push_back(settle(layout.target[i]));
    if (is_indexed(s))
      for (const std::string& name : function.branch_targets.at(s.operands[1].name))
        successors[i].push_back(settle(layout.labels.at(name)));
    if (s.guard || !(is_indexed(s) || leaves(s))) successors[i].push_back(settle(i + 1));
  }
  return order_fault(successors, places, Layout::kNone);
}

std::string fault(const Function& function, const Layout& layout, int walks) {
  for (int seed = 1; seed <= walks; ++seed) {
    Walk walk(function, layout, std::uint32_t(seed));
    if (walk.text() != walk.layout()) return fmt::format("walk {}: the layout takes another path", seed);
    if (!walk.lost.empty()) return fmt::format("walk {}: {}", seed, walk.lost);
  }
  return order_fault(function, layout);
}

std::string random_body(std::mt19937& random) {
  const auto pick = [&](int n) { return int(random() % unsigned(n)); };
  const auto reg = [&] { return fmt::format("%r{}", pick(12)); };
  const auto guard = [&] { return fmt::format("@{}%p{} ", pick(2) ? "!" : "", pick(4)); };
  const int blocks = 1 + pick(14);
  std::string text = ".reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<4>;\n";
  for (int block = 0; block < blocks; ++block) {
    text += fmt::format("L{}:\n", block);
    for (int n = pick(5); n > 0; --n) {
      const std::string prefix = pick(4) ? "" : guard();
      switch (pick(6)) {
        case 0:
          text += fmt::format("{}mov.u32 {}, 1;\n", prefix, reg());
          break;
        case 1:
          text += fmt::format("{}ld.v2.u32 {{{}, {}}}, [%rd{}];\n", prefix, reg(), reg(), pick(4));
          break;
        case 2:
          text += fmt::format("{}st.u32 [%rd{}], {};\n", prefix, pick(4), reg());
          break;
        case 3:
          text += fmt::format("{}setp.eq.s32 %p{}|%p{}, {}, 2;\n", prefix, pick(4), pick(4), reg());
          break;
        case 4:
          text += fmt::format("{}add.s64 %rd{}, %rd{}, 8;\n", prefix, pick(4), pick(4));
          break;
        default:
          text += fmt::format("{}add.s32 {}, {}, {};\n", prefix, reg(), reg(), reg());
          break;
      }
    }
    switch (pick(7)) {
      case 0:
        text += fmt::format("bra L{};\n", pick(blocks));
        break;
      case 1:
      case 2:
      case 3:
        text += fmt::format("{}bra L{};\n", guard(), pick(blocks));
        break;
      case 4:
        text += pick(3) ? guard() + "ret;\n" : "ret;\n";
        break;
      case 5:
        text += fmt::format("T{0}: .branchtargets L{1}, L{2}, L{3};\nbrx.idx %r1, T{0};\n", block,
                            pick(blocks), pick(blocks), pick(blocks));
        break;
      default:
        break;
    }
  }
  return text;
}

TEST(LayoutProperties, RandomFunctions) {
  std::mt19937 random(1);
  for (int i = 0; i < 1500; ++i) {
    const std::string text = ".entry k {\n" + random_body(random) + "}";
    const Module module = parse(text);
    const Layout layout = lay_out(module.functions[0]);
    ASSERT_EQ(fault(module.functions[0], layout, 8), "") << text;
  }
}

TEST(LayoutProperties, RealKernels) {
  const Module module = parse(file("kernels.ptx"));
  int laid_out = 0;
  for (const Function& function : module.functions) {
    if (function.declared_only) continue;
    EXPECT_EQ(fault(function, lay_out(function), 20), "") << function.name;
    ++laid_out;
  }
  EXPECT_EQ(laid_out, 7);
}

// The checks themselves must be able to fail.
TEST(LayoutProperties, DamagedLayoutsAreFound) {
  const Module module = parse(R"(.entry k { .reg .pred %p<2>; .reg .b32 %r<4>;
mov.u32 %r0, 1;
mov.u32 %r1, 2;
LOOP:
add.s32 %r2, %r0, %r1;
@%p0 bra LOOP;
@%p1 bra OUT;
mov.u32 %r2, 3;
OUT:
add.s32 %r3, %r2, %r1;
ret; })");
  const Function& function = module.functions.at(0);
  const Layout good = lay_out(function);
  ASSERT_EQ(fault(function, good, 20), "");
  Layout shared = good;
  shared.slot.at(2 + 1) = shared.slot.at(2 + 0);  // %r1 in the slot of %r0
  EXPECT_NE(fault(function, shared, 20), "");
  Layout redirected = good;
  *std::find(redirected.target.begin(), redirected.target.end(), 2u) = 1;
  EXPECT_NE(fault(function, redirected, 20), "");
  EXPECT_EQ(order_fault({{1}, {2}, {1, 3}, {}}, {0, 1, 2, 3}, Layout::kNone), "");
  EXPECT_EQ(order_fault({{1}, {3}, {}, {1, 2}}, {0, 1, 2, 3}, Layout::kNone),
            "the loop of 1 has a gap before 3");
  EXPECT_EQ(order_fault({{2}, {3}, {1}, {}}, {0, 1, 2, 3}, Layout::kNone), "2 leads back to 1");
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
