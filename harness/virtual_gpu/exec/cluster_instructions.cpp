// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/cluster.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// barrier.cluster (PTX ISA 9.7.13.4), mapa and getctarank (9.7.9.23, 9.7.9.24).
namespace pkb::virtual_gpu {
namespace {

void arrive(Warp& warp, const Instruction& in) { warp.block().cluster().arrive(warp, in); }
void wait(Warp& warp, const Instruction& in) { warp.block().cluster().wait(warp, in); }

// d: the address `a` of this block's shared memory in that of the block with rank `b`. What is mapped to its own
// block stays as it is. Generic addresses have the window's bits above, which stay too.
template <class Address>
void map_address(Warp& warp, const Instruction& in) {
  BlockState& block = warp.block();
  const Address* from = warp.at<Address>(in.a);
  const std::uint32_t* ranks = warp.at<std::uint32_t>(in.b);
  Address* to = warp.at<Address>(in.d);
  constexpr Address kOffset = (Address{1} << kRankShift) - 1;
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint32_t rank = ranks[lane];
    if (rank >= block.cluster().size())
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        fmt::format("mapa to block {} of a cluster of {}", rank, block.cluster().size()));
    if (sizeof(Address) == 8 && in.flags != 0 && from[lane] - kSharedWindow >= kSharedWindow)
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, from[lane],
                        fmt::format("mapa of {:#x}, which is not shared memory", from[lane]));
    const std::uint64_t window = in.flags != 0 ? kSharedWindow : 0, offset = from[lane] & kOffset;
    to[lane] = static_cast<Address>(window + (rank == block.rank() ? offset : cluster_address(rank, offset)));
  }
}

template <class Address>
void rank_of_address(Warp& warp, const Instruction& in) {
  const Address* from = warp.at<Address>(in.a);
  const std::uint32_t own = warp.block().rank();
  const std::uint64_t window = in.flags != 0 ? kSharedWindow : 0;
  write<std::uint32_t>(warp, in.d, [&](int lane) {
    const std::uint64_t rank = (from[lane] - window) >> kRankShift;
    return rank == 0 ? own : static_cast<std::uint32_t>(rank - 1);
  });
}

// barrier.cluster.{arrive, wait}{.release, .relaxed, .acquire}{.aligned}
void build_barrier(Decoder& decoder, const ptx::Statement&, const Entry& entry) {
  decoder.emit_control(entry.handler);
}

// mapa{.shared::cluster}.{u32, u64} d, address, rank
void build_map(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const bool generic = !modifiers.take("shared::cluster"), quad = modifiers.take_type() == ptx::Type::u64;
  modifiers.finish();
  if (statement.operands.size() != 3) throw Unsupported{statement.opcode};
  const Slot slot = quad ? Slot::quad : Slot::word;
  const std::uint32_t from = decoder.source(statement.operands[1], slot),
                      rank = decoder.source(statement.operands[2], Slot::word),
                      to = decoder.destination(statement.operands[0], slot);
  Instruction& in = decoder.emit(quad ? map_address<std::uint64_t> : map_address<std::uint32_t>);
  in.d = to;
  in.a = from;
  in.b = rank;
  in.flags = generic ? 1 : 0;
}

// getctarank{.shared::cluster}.{u32, u64} d, address
void build_rank(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const bool generic = !modifiers.take("shared::cluster"), quad = modifiers.take_type() == ptx::Type::u64;
  modifiers.finish();
  if (statement.operands.size() != 2) throw Unsupported{statement.opcode};
  const std::uint32_t from = decoder.source(statement.operands[1], quad ? Slot::quad : Slot::word),
                      to = decoder.destination(statement.operands[0], Slot::word);
  Instruction& in = decoder.emit(quad ? rank_of_address<std::uint64_t> : rank_of_address<std::uint32_t>);
  in.d = to;
  in.a = from;
  in.flags = generic ? 1 : 0;
}

}  // namespace

void add_cluster(Table& table) {
  table.add_all({{"barrier.cluster.arrive", arrive, {}, build_barrier},
                 {"barrier.cluster.wait", wait, {}, build_barrier},
                 {"mapa", nullptr, {}, build_map},
                 {"getctarank", nullptr, {}, build_rank}});
}

}  // namespace pkb::virtual_gpu
