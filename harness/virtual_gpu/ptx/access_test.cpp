// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/ptx/access.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace pkb::virtual_gpu::ptx {
namespace {

struct Case {
  const char* statement;
  const char* accesses;  ///< r and w with the number of the register, in the order of the operands
};

std::string accesses(const std::string& statement) {
  const Module module = parse(fmt::format(
      ".entry k {{ .reg .pred %p<10>; .reg .b32 %r<10>; proto: .callprototype _; {}; }}", statement));
  const Function& f = module.functions.at(0);
  std::string text;
  const auto add = [&](char what, std::uint32_t reg) {
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", what, f.registers.at(reg).name.substr(2));
  };
  visit_registers(
      f.body.at(0), [&](std::uint32_t reg) { add('r', reg); }, [&](std::uint32_t reg) { add('w', reg); });
  return text;
}

// From the syntax lines of PTX ISA 9.0, chapter 9.7.
TEST(Access, EveryKindOfInstruction) {
  for (const Case& c : {
           Case{"add.s32 %r1, %r2, %r3", "w1 r2 r3"},
           Case{"add.s32 %r1, %r1, 1", "w1 r1"},
           Case{"@!%p5 mov.u32 %r1, %r2", "r5 w1 r2"},
           Case{"mov.b64 {%r1, _}, %r2", "w1 r2"},
           Case{"mov.b64 %r1, {%r2, %r3}", "w1 r2 r3"},
           Case{"mad.lo.cc.u32 %r1, %r2, %r3, %r4", "w1 r2 r3 r4"},
           Case{"lop3.and.b32 %r1|%p2, %r3, %r4, %r5, 1, %p6", "w1 w2 r3 r4 r5 r6"},
           Case{"ld.global.v2.u32 {%r1, %r2}, [%r3+8], %r4", "w1 w2 r3 r4"},
           Case{"st.global.v2.u32 [%r3+8], {%r1, %r2}", "r3 r1 r2"},
           Case{"st.async.weak.shared::cluster.u32 [%r1], %r2, [%r3]", "r1 r2 r3"},
           Case{"setp.lt.and.s32 %p1|%p2, %r3, %r4, !%p5", "w1 w2 r3 r4 r5"},
           Case{"shfl.sync.bfly.b32 %r1|%p2, %r3, 1, 31, -1", "w1 w2 r3"},
           Case{"vote.sync.ballot.b32 %r1, %p2, -1", "w1 r2"},
           Case{"elect.sync _|%p1, -1", "w1"},
           Case{"atom.global.cas.b32 %r1, [%r2], %r3, %r4", "w1 r2 r3 r4"},
           Case{"red.global.add.u32 [%r2], %r3", "r2 r3"},
           Case{"bar.sync %r1, %r2", "r1 r2"},
           Case{"barrier.cta.red.popc.aligned.u32 %r1, 0, %p2", "w1 r2"},
           Case{"bar.red.and.pred %p1, 0, !%p2", "w1 r2"},
           Case{"bar.warp.sync %r1", "r1"},
           Case{"barrier.cluster.arrive.release", ""},
           Case{"nanosleep.u32 %r1", "r1"},
           Case{"prefetch.global.L2 [%r1]", "r1"},
           Case{"call (%r1), %r2, (%r3, %r4), proto", "w1 r2 r3 r4"},
           Case{"call f, (%r3)", "r3"},
           Case{"L: bra L", ""},
           Case{"L: T: .branchtargets L; brx.idx %r1, T", "r1"},
           Case{"ret", ""},
           Case{"cp.async.cg.shared.global [%r1], [%r2], 16, %r3", "r1 r2 r3"},
           Case{"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%r2, "
                "{%r3, %r4}], [%r5]",
                "r1 r2 r3 r4 r5"},
           Case{"mbarrier.init.shared::cta.b64 [%r1], %r2", "r1 r2"},
           Case{"mbarrier.arrive.shared::cta.b64 %r1, [%r2]", "w1 r2"},
           Case{"mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], %r3", "r2 r3"},
           Case{"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r3", "w1 r2 r3"},
           Case{"ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3]", "w1 w2 r3"},
           Case{"stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r3], {%r1, %r2}", "r3 r1 r2"},
           Case{"mma.sync.aligned.m8n8k4.x {%r1, %r2}, {%r3}, {%r4}, {%r5, %r6}", "w1 w2 r3 r4 r5 r6"},
           Case{"wmma.load.a.sync.aligned.x {%r1, %r2}, [%r3], %r4", "w1 w2 r3 r4"},
           Case{"wmma.store.d.sync.aligned.x [%r3], {%r1, %r2}, %r4", "r3 r1 r2 r4"},
           Case{"wgmma.mma_async.sync.aligned.x {%r1, %r2}, %r3, %r4, %p5, 1, 1", "r1 w1 r2 w2 r3 r4 r5"},
           Case{"wgmma.wait_group.sync.aligned 0", ""},
           Case{"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3]", "w1 w2 r3"},
           Case{"tcgen05.ld.red.sync.aligned.x {%r1, %r2}, %r3, [%r4]", "w1 w2 w3 r4"},
           Case{"tcgen05.st.sync.aligned.32x32b.x2.b32 [%r3], {%r1, %r2}", "r3 r1 r2"},
           Case{"tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32", "r1"},
           Case{"tcgen05.mma.cta_group::1.kind::f16 [%r1], %r2, %r3, %r4, {%r5, %r6}, %p7",
                "r1 r2 r3 r4 r5 r6 r7"},
           Case{"multimem.ld_reduce.global.add.v2.f32 {%r1, %r2}, [%r3]", "w1 w2 r3"},
           Case{"multimem.st.global.v2.f32 [%r3], {%r1, %r2}", "r3 r1 r2"},
           Case{"tex.2d.v2.f32.f32 {%r1, %r2}, [t, {%r3, %r4}]", "w1 w2 r3 r4"},
           Case{"sust.b.2d.v2.b32 [s, {%r3, %r4}], {%r1, %r2}", "r3 r4 r1 r2"},
           Case{"vadd.s32.u32.u32 %r1.b0, %r2.h1, %r3, %r4", "r1 w1 r2 r3 r4"},
           Case{"stackrestore.u64 %r1", "r1"},
           Case{"setmaxnreg.inc.sync.aligned.u32 240", ""},
           Case{"newfangled.u32 %r1, %r2", "r1 w1 r2"},
       })
    EXPECT_EQ(accesses(c.statement), c.accesses) << c.statement;
}

}  // namespace
}  // namespace pkb::virtual_gpu::ptx
