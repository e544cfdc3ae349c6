// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/lanes.h"

// alloca, stacksave, stackrestore (PTX ISA 9.7.17). Memory that grows at run time stands behind the variables
// of its function's activation, at the same addresses for all threads.
namespace pkb::virtual_gpu {
namespace {

using Quad = std::uint64_t;

Quad top(Warp& warp) {
  const Frame& frame = warp.frame();
  return frame.local_base + warp.block().kernel().functions[frame.function].local_bytes + frame.allocated;
}

// d: address, a: bytes, immediate: alignment
template <class T>
void allocate(Warp& warp, const Instruction& in) {
  Quad bytes = 0;
  const Reader<T> wanted(warp, in.a);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1)
    bytes = std::max<Quad>(bytes, wanted[std::countr_zero(left)]);
  const Quad at = (top(warp) + in.immediate - 1) / in.immediate * in.immediate;
  if (warp.local(0, at, bytes) == nullptr)
    return warp.fault(in, warp.first_lane(), Fault::Kind::illegal_address, 0,
                      fmt::format("stack overflow: no room for {} bytes by alloca", bytes));
  warp.frame().allocated += at + bytes - top(warp);
  write<T>(warp, in.d, [at](int) { return static_cast<T>(at); });
}

template <class T>
void save(Warp& warp, const Instruction& in) {
  const T at = static_cast<T>(top(warp));
  write<T>(warp, in.d, [at](int) { return at; });
}

// Other threads of the activation may still use what these give back, so it stays as long as there are any.
template <class T>
void restore(Warp& warp, const Instruction& in) {
  Frame& frame = warp.frame();
  if (warp.mask() != (frame.lanes & warp.live())) return;
  const Quad at = Reader<T>(warp, in.a)[warp.first_lane()], now = top(warp);
  if (at > now || now - at > frame.allocated)
    return warp.fault(in, warp.first_lane(), Fault::Kind::invalid_instruction, at,
                      fmt::format("stackrestore to {:#x}, which no stacksave of this function gave", at));
  frame.allocated -= now - at;
}

template <class T>
Entry saving(const char* name) {
  return {name, save<T>, {}, [](Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
            const std::uint32_t to = decoder.destination(statement.operands.at(0), slot_of<T>());
            decoder.emit(entry.handler).d = to;
          }};
}

template <class T>
Entry restoring(const char* name) {
  return {name, restore<T>, {}, [](Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
            const std::uint32_t from = decoder.source(statement.operands.at(0), slot_of<T>());
            decoder.emit(entry.handler).a = from;
          }};
}

template <class T>
Entry allocating(const char* name) {
  return {name, allocate<T>, {}, [](Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
            const auto& operands = statement.operands;
            const Quad alignment = operands.size() > 2 ? operands[2].bits : 8;
            if (operands.size() < 2 || !std::has_single_bit(alignment)) throw Unsupported{statement.opcode};
            const std::uint32_t bytes = decoder.source(operands[1], slot_of<T>());
            const std::uint32_t to = decoder.destination(operands[0], slot_of<T>());
            Instruction& in = decoder.emit(entry.handler);
            in.d = to;
            in.a = bytes;
            in.immediate = alignment;
          }};
}

}  // namespace

void add_stack(Table& table) {
  table.add(allocating<std::uint32_t>("alloca.u32"), allocating<Quad>("alloca.u64"),
            saving<std::uint32_t>("stacksave.u32"), saving<Quad>("stacksave.u64"),
            restoring<std::uint32_t>("stackrestore.u32"), restoring<Quad>("stackrestore.u64"));
}

}  // namespace pkb::virtual_gpu
