// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// cp.async and its groups (PTX ISA 9.7.9.25.3). The lanes of a warp issue one copy together.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;

// a: source; b: destination; c: bytes to read; count: bytes to write, the rest zeros.
void copy(Warp& warp, const Instruction& in) {
  BlockState& block = warp.block();
  auto copy = warp.copies().fresh();
  copy->in = &in;
  copy->lanes = warp.mask();
  copy->completion = AsyncCopy::Completion::group;
  const auto slot = static_cast<std::uint32_t>(in.target);
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Quad from = warp.at<Quad>(in.a)[lane], to = warp.at<Quad>(in.b)[lane];
    const Word wanted = warp.at<Word>(in.c)[lane];
    if (wanted > in.count)
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        fmt::format("cp.async of {} bytes reads {}", in.count, wanted));
    if (!aligned(warp, in, lane, from, in.count) || !aligned(warp, in, lane, to, in.count)) return;
    std::byte* target = lane_range(warp, in, lane, ptx::Space::shared, to, in.count, Access::write);
    if (target == nullptr) return;
    const std::byte* source = nullptr;
    if (wanted != 0) {  // what is not read need not exist
      source = lane_range(warp, in, lane, ptx::Space::global, from, wanted, Access::read);
      if (source == nullptr) return;
      copy->source_owner = block.owner(slot);
      copy->pieces.push_back({from, kSharedWindow + to, source, target, wanted, lane});
    }
    if (wanted < in.count)
      copy->pieces.push_back({0, kSharedWindow + to + wanted, nullptr, target + wanted, in.count - wanted, lane});
  }
  warp.copies().issue(std::move(copy));
}

void commit(Warp& warp, const Instruction& in) {
  warp.copies().commit(static_cast<AsyncCopy::Completion>(in.flags), warp.mask());
}

constexpr std::uint8_t kOnlyRead = 0x80, kAll = 0x40;  // beside the completion in Instruction::flags

// immediate: groups that may remain.
void wait(Warp& warp, const Instruction& in) {
  const auto completion = static_cast<AsyncCopy::Completion>(in.flags & ~(kOnlyRead | kAll));
  if ((in.flags & kAll) != 0) warp.copies().commit(completion, warp.mask());
  warp.copies().wait({.completion = completion,
                      .lanes = warp.mask(),
                      .may_remain = in.immediate,
                      .only_read = (in.flags & kOnlyRead) != 0});
  if (warp.faulted()) warp.stop(in);
}

Word not_if(bool ignored, Word bytes) { return ignored ? 0 : bytes; }

// cp.async [to], [from], bytes{, bytes to read | predicate: read nothing}{, cache policy}
void build_copy(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("async");
  const bool policy = statement.opcode.find(".L2::cache_hint") != std::string::npos;
  take_ordering(modifiers);
  const auto& operands = statement.operands;
  if (operands.size() < 3 || operands[2].kind != ptx::Operand::Kind::integer)
    throw Unsupported{statement.opcode};
  const Place from = take_place(decoder, modifiers, operands[1]),
              to = take_place(decoder, modifiers, operands[0]);
  modifiers.finish();
  const Quad bytes = operands[2].bits;
  if (from.space != ptx::Space::global || to.space != ptx::Space::shared ||
      (bytes != 4 && bytes != 8 && bytes != 16))
    throw Unsupported{statement.opcode};
  Word wanted = decoder.constant(bytes, Slot::word);
  if (operands.size() - (policy ? 1 : 0) > 3) {
    if (decoder.slot_of(operands[3]) == Slot::predicate) {
      const Word ignored = decoder.source(operands[3], Slot::predicate);
      const Word chosen = decoder.temporary(Slot::word);
      Instruction& in = decoder.emit(LaneWise<not_if, false>::execute);
      in.d = chosen;
      in.a = ignored;
      in.b = std::exchange(wanted, chosen);
    } else {
      wanted = decoder.source(operands[3], Slot::word);
    }
  }
  const Word source = effective_address(decoder, from.address), target = effective_address(decoder, to.address);
  Instruction& in = decoder.emit(copy);
  in.a = source;
  in.b = target;
  in.c = wanted;
  in.count = static_cast<std::uint16_t>(bytes);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

std::uint8_t completion_of(const ptx::Statement& statement) {
  const bool bulk = statement.opcode.starts_with("cp.async.bulk.");
  return static_cast<std::uint8_t>(bulk ? AsyncCopy::Completion::bulk_group : AsyncCopy::Completion::group);
}

void build_commit(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  decoder.emit(commit).flags = completion_of(statement);
}

void build_wait(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  std::uint8_t flags = completion_of(statement);
  Quad remain = 0;
  if (statement.opcode.ends_with(".wait_all")) {
    flags |= kAll;
  } else {
    if (statement.operands.size() != 1 || statement.operands[0].kind != ptx::Operand::Kind::integer)
      throw Unsupported{statement.opcode};
    remain = statement.operands[0].bits;
    if (statement.opcode.ends_with(".read")) flags |= kOnlyRead;
  }
  Instruction& in = decoder.emit(wait);
  in.immediate = remain;
  in.flags = flags;
}

}  // namespace

void add_cp_async(Table& table) {
  table.add({"cp.async", nullptr, {}, build_copy});
  for (const char* name : {"cp.async.commit_group", "cp.async.bulk.commit_group"})
    table.add({name, nullptr, {}, build_commit});
  for (const char* name :
       {"cp.async.wait_group", "cp.async.wait_all", "cp.async.bulk.wait_group", "cp.async.bulk.wait_group.read"})
    table.add({name, nullptr, {}, build_wait});
}

}  // namespace pkb::virtual_gpu
