// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/warp.h"

// griddepcontrol (PTX ISA 9.7.13.13) and setmaxnreg (9.7.20.5).
namespace pkb::virtual_gpu {
namespace {

void launch_dependents(Warp& warp, const Instruction&) {
  warp.block().trigger();
  warp.progress();
}

// A loop of one instruction, which shows as polling while the kernel before is not done.
void wait(Warp& warp, const Instruction& in) {
  const std::atomic<bool>* done = warp.block().launch().prerequisite;
  if (done == nullptr || done->load(std::memory_order_acquire)) {
    check::BlockCheck* const check = warp.block().check();
    const auto& before = warp.block().launch().prerequisite_check;
    if (check != nullptr && before) check->join(warp.index(), warp.mask(), before->finish());
    return;
  }
  warp.block().looks_at(done, sizeof *done);
  warp.enter(&warp.frame(), &in);
  warp.turn_back(true);
}

// The number of registers matters to speed alone.
void nothing(Warp&, const Instruction&) {}

void build_trigger(Decoder& decoder, const ptx::Statement&, const Entry& entry) { decoder.emit(entry.handler); }
void build_wait(Decoder& decoder, const ptx::Statement&, const Entry& entry) { decoder.emit_jump(entry.handler); }

// setmaxnreg.{inc, dec}.sync.aligned.u32 count
void build_registers(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  if (statement.operands.size() != 1 || statement.operands[0].kind != ptx::Operand::Kind::integer)
    throw Unsupported{statement.opcode};
  const std::uint64_t count = statement.operands[0].bits;
  if (count < 24 || count > 256 || count % 8 != 0)
    throw Unsupported{fmt::format("{} of {} registers", statement.opcode, count)};
  decoder.emit(nothing);
}

}  // namespace

void add_grid_control(Table& table) {
  table.add_all({{"griddepcontrol.launch_dependents", launch_dependents, {}, build_trigger},
                 {"griddepcontrol.wait", wait, {}, build_wait},
                 {"setmaxnreg.inc.sync.aligned.u32", nullptr, {}, build_registers},
                 {"setmaxnreg.dec.sync.aligned.u32", nullptr, {}, build_registers}});
}

}  // namespace pkb::virtual_gpu
