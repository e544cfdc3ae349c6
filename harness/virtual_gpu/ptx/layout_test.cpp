// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "harness/virtual_gpu/ptx/module.h"

namespace pkb::virtual_gpu::ptx {
namespace {

Function kernel(const std::string& body) {
  Module module = parse(
      ".entry k(.param .u64 a) { .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; "
      ".reg .b128 %q<4>;\n" +
      body + "\n}");
  return std::move(module.functions.at(0));
}

/// The layout as text: opcodes in order, "@" or "@!" for a guard, ">n" for a target.
std::string order(const std::string& body) {
  const Layout layout = lay_out(kernel(body));
  std::string text;
  for (std::size_t i = 0; i < layout.body.size(); ++i) {
    const Statement& s = layout.body[i];
    if (i) text += ' ';
    if (s.guard) text += s.guard->negated ? "@!" : "@";
    text += s.opcode;
    if (layout.target[i] != Layout::kNone) text += fmt::format(">{}", layout.target[i]);
  }
  return text;
}

TEST(Order, StraightLineEndsInRet) {
  EXPECT_EQ(order("a; b;"), "a b ret");
  EXPECT_EQ(order(""), "ret");
  EXPECT_EQ(order("a; exit;"), "a exit");
  EXPECT_EQ(order("a; @%p1 exit;"), "a @exit ret");
  EXPECT_EQ(order("a; @%p1 ret; b; ret;"), "a @ret b ret");
}

TEST(Order, IfElse) {
  EXPECT_EQ(order("a; @%p1 bra ELSE; b; bra END; ELSE: c; END: d; ret;"), "a @bra>4 b bra>5 c d ret");
  EXPECT_EQ(order("a; @%p1 bra END; b; END: d; ret;"), "a @bra>3 b d ret");
}

TEST(Order, TheJoinComesAfterBothSidesWhereverItIsWritten) {
  //                 0 1       2 3          4    5          6 7
  EXPECT_EQ(order("a; @%p1 bra C; b; bra END; END: d; ret; C: c; bra END;"), "a @bra>4 b bra>5 c d ret");
}

TEST(Order, DeadBlocksGo) {
  EXPECT_EQ(order("a; bra END; b; L: c; bra L; END: d; ret;"), "a d ret");
  EXPECT_EQ(order("a; ret; b;"), "a ret");
}

TEST(Order, BranchesToTheNextStatementGo) {
  EXPECT_EQ(order("a; bra.uni L; L: b; @%p1 bra M; M: ret;"), "a b ret");
}

TEST(Order, ChainsOfLoneBranchesAreSkipped) {
  EXPECT_EQ(order("a; @%p1 bra ONE; b; bra END; ONE: bra TWO; TWO: bra END; END: d; ret;"),
            "a @bra>3 b d ret");
  EXPECT_EQ(order("a; L: bra M; M: bra L;"), "a bra>1");
  EXPECT_EQ(order("L: bra L;"), "bra>0");
}

TEST(Order, LoopWithItsExitInTheMiddle) {
  EXPECT_EQ(order("a; LOOP: b; @%p1 bra OUT; c; bra LOOP; OUT: d; ret;"), "a b @bra>5 c bra>1 d ret");
}

TEST(Order, LoopWhoseBodyIsWrittenBehindItsExit) {
  // The loop becomes contiguous, and the branch into it is inverted to a branch out of it.
  EXPECT_EQ(order("a; LOOP: b; @%p1 bra BODY; OUT: d; ret; BODY: c; bra LOOP;"), "a b @!bra>5 c bra>1 d ret");
}

TEST(Order, BreakWithWorkOnTheWayOut) {
  // Only lanes that break run x, and the others may still be in the loop: x stands behind the whole loop.
  EXPECT_EQ(order("LOOP: a; @%p1 bra NO; x; bra OUT; NO: b; @%p2 bra LOOP; OUT: d; ret;"),
            "a @!bra>5 b @bra>0 bra.uni>6 x d ret");
}

TEST(Order, LoopWithTwoExits) {
  EXPECT_EQ(order("LOOP: a; @%p1 bra X; b; @%p2 bra Y; c; bra LOOP; X: x; bra END; Y: y; END: z; ret;"),
            "a @bra>6 b @bra>8 c bra>0 x bra>9 y z ret");
}

TEST(Order, NestedLoops) {
  EXPECT_EQ(order("O: a; I: b; @%p1 bra I; @%p2 bra END; c; bra O; END: d; ret;"),
            "a b @bra>1 @bra>6 c bra>0 d ret");
  // continue of the outer loop from the inner one, whose body is written last
  EXPECT_EQ(order("O: a; I: b; @%p1 bra T; c; @%p2 bra O; ret; T: t; @%p3 bra I; bra O;"),
            "a b @!bra>6 t @bra>1 bra.uni>0 c @bra>0 ret");
}

TEST(Order, IndexedBranch) {
  const Function f = kernel("a; ts: .branchtargets A, B, C; brx.idx %r1, ts; A: x; bra C; B: y; C: z; ret;");
  const Layout layout = lay_out(f);
  EXPECT_EQ(layout.labels.at("A"), 2u);
  EXPECT_EQ(layout.labels.at("B"), 4u);
  EXPECT_EQ(layout.labels.at("C"), 5u);
  EXPECT_EQ(layout.body.at(5).opcode, "z");
}

TEST(Order, BadBranches) {
  const auto error = [](const std::string& body) -> std::string {
    try {
      lay_out(kernel(body));
    } catch (const ParseError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(error("ts: .branchtargets A; A: bra ts;"), "PTX line 2: 'ts' is no label of a statement");
  EXPECT_EQ(error("A: brx.idx %r1, A;"), "PTX line 2: 'A' is no list of branch targets");
  EXPECT_EQ(error("bra;"), "PTX line 2: branch without a label");
}

std::map<std::string, std::uint32_t> slots(const Function& f, const Layout& layout) {
  std::map<std::string, std::uint32_t> named;
  for (std::size_t i = 0; i < layout.slot.size(); ++i)
    if (layout.slot[i] != Layout::kNone) named[f.registers[i].name] = layout.slot[i];
  return named;
}

std::map<std::string, std::uint32_t> slots(const std::string& body) {
  const Function f = kernel(body);
  return slots(f, lay_out(f));
}

TEST(Slots, SizeClasses) {
  const Function f = kernel("mov.b128 %q0, %q1; mov.u64 %rd0, %rd1; mov.u32 %r0, %r1; mov.pred %p0, %p1;");
  const Layout layout = lay_out(f);
  const auto named = slots(f, layout);
  EXPECT_EQ(std::max(named.at("%q0"), named.at("%q1")), 512u);
  EXPECT_EQ(std::max(named.at("%rd0"), named.at("%rd1")), 1024u + 256u);
  EXPECT_EQ(std::max(named.at("%r0"), named.at("%r1")), 1536u + 128u);
  EXPECT_EQ(std::max(named.at("%p0"), named.at("%p1")), 1792u + 4u);
  EXPECT_EQ(layout.register_bytes, 1920u);
  EXPECT_EQ(named.size(), 8u) << "registers that the body does not name have no slot";
}

TEST(Slots, SharedWhenNeverLiveTogether) {
  const auto s =
      slots("mov.u32 %r0, 1; mov.u32 %r1, %r0; mov.u32 %r2, %r1; mov.u32 %r3, %r2; st.u32 [%rd0], %r3;");
  EXPECT_EQ(s.at("%r0"), s.at("%r2"));
  EXPECT_EQ(s.at("%r1"), s.at("%r3"));
  EXPECT_NE(s.at("%r0"), s.at("%r1")) << "a destination never takes the slot of a source of its statement";
}

TEST(Slots, AValueFromBeforeALoopStaysThroughIt) {
  const auto s = slots(
      "mov.u32 %r0, 1; L: mov.u32 %r1, 5; add.u32 %r2, %r0, %r1; setp.eq.u32 %p0, %r2, 3;"
      "mov.u32 %r3, %r2; @%p0 bra L; st.u32 [%rd0], %r3;");
  EXPECT_NE(s.at("%r0"), s.at("%r3")) << "read again in the next iteration";
  EXPECT_NE(s.at("%r0"), s.at("%r2"));
}

TEST(Slots, AGuardedWriteKeepsTheOldValue) {
  const auto s =
      slots("mov.u32 %r0, 1; mov.u32 %r1, 2; st.u32 [%rd0], %r1; @%p0 mov.u32 %r0, 7; st.u32 [%rd0], %r0;");
  EXPECT_NE(s.at("%r0"), s.at("%r1"));
}

TEST(Slots, AFirstWriteUnderAGuardIsNotLiveFromTheEntry) {
  const auto s = slots(
      "mov.u32 %r1, 2; st.u32 [%rd0], %r1; @%p0 mov.u32 %r0, 7; @!%p0 mov.u32 %r0, 8; st.u32 [%rd0], %r0;");
  EXPECT_EQ(s.at("%r0"), s.at("%r1"));
}

TEST(Slots, ReadsWithoutAnyWriteAreLiveFromTheEntry) {
  const auto s = slots("mov.u32 %r1, 2; st.u32 [%rd0], %r1; st.u32 [%rd0], %r0;");
  EXPECT_NE(s.at("%r0"), s.at("%r1"));
}

TEST(Slots, VectorsPairsAndAddresses) {
  // After the load %r4 and %rd1 are free, but no destination may have taken %r4's slot before.
  const auto s = slots(
      "mov.u32 %r4, 0; ld.shared.v4.u32 {%r0, %r1, _, %r2}, [%r4];"
      "setp.eq.u32 %p0|%p1, %r0, %r1; @%p0 st.v2.u32 [%rd1], {%r2, %r0}; @%p1 st.u32 [%rd1], %r1;");
  EXPECT_NE(s.at("%p0"), s.at("%p1"));
  for (const char* r : {"%r0", "%r1", "%r2"}) EXPECT_NE(s.at(r), s.at("%r4"));
}

TEST(Slots, AccumulatorsAreReadToo) {
  const auto s = slots(
      "mov.u32 %r0, 1; mov.u32 %r1, 2; st.u32 [%rd0], %r1;"
      "wgmma.mma_async.sync.aligned.x {%r0}, %rd1, %rd2, 1; st.u32 [%rd0], %r0;");
  EXPECT_NE(s.at("%r0"), s.at("%r1"));
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
