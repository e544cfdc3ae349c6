// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/bulk.h"

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>

#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/atomic.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// cp.async.bulk and cp.reduce.async.bulk without tensor maps (PTX ISA 9.7.9.25.4). Each lane issues a copy of its
// own, and of a multicast one for every destination.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;

constexpr Word kUnit = 16;  // of addresses and sizes, in bytes

enum class Route : std::uint8_t { global_to_shared, shared_to_shared, shared_to_global };
constexpr std::uint8_t kMulticast = 0x80;  // beside the route in Instruction::flags

struct Request {
  Route route;
  Quad from, to, mbarrier;  // shared::cluster addresses, or global ones
  Word bytes;
};

// Checks the addresses of one copy and issues it. False after a fault.
bool issue(Warp& warp, const Instruction& in, int lane, const Request& request) {
  const auto [route, from, to, mbarrier, bytes] = request;
  const bool from_global = route == Route::global_to_shared, to_global = route == Route::shared_to_global;
  const auto slot = static_cast<std::uint32_t>(in.target);
  const std::byte* source = lane_range(warp, in, lane, from_global ? ptx::Space::global : ptx::Space::shared,
                                       from, bytes, Access::read);
  if (source == nullptr) return false;
  std::byte* target =
      lane_range(warp, in, lane, to_global ? ptx::Space::global : ptx::Space::shared, to, bytes, Access::write);
  if (target == nullptr) return false;
  auto copy = warp.copies().fresh();
  copy->in = &in;
  copy->lanes = 1u << lane;
  copy->completion = to_global ? AsyncCopy::Completion::bulk_group : AsyncCopy::Completion::mbarrier;
  copy->pieces.push_back({from_global ? from : kSharedWindow + from, to_global ? to : kSharedWindow + to, source,
                          target, bytes, lane});
  copy->combine = reinterpret_cast<Combine>(in.immediate);
  if (from_global) copy->source_owner = warp.block().owner(slot);
  if (to_global) copy->target_owner = warp.block().owner(slot);
  copy->mbarrier = mbarrier;
  copy->transactions = bytes;
  warp.copies().issue(std::move(copy));
  return true;
}

// a: source; b: destination; c: bytes; d: mbarrier; e: blocks of a multicast; immediate: reduction; flags: route.
void copy(Warp& warp, const Instruction& in) {
  const auto route = static_cast<Route>(in.flags & ~kMulticast);
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Request request{.route = route,
                    .from = warp.at<Quad>(in.a)[lane],
                    .to = warp.at<Quad>(in.b)[lane],
                    .mbarrier = route == Route::shared_to_global ? 0 : warp.at<Quad>(in.d)[lane],
                    .bytes = warp.at<Word>(in.c)[lane]};
    if (request.bytes % kUnit != 0)
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        fmt::format("{} of {} bytes, which is not a multiple of {}",
                                    warp.block().kernel().places[in.place].opcode, request.bytes, kUnit));
    if (!aligned(warp, in, lane, request.from, kUnit) || !aligned(warp, in, lane, request.to, kUnit) ||
        !aligned(warp, in, lane, request.mbarrier, sizeof(Quad)))
      return;
    const auto one = [&](Quad to, Quad mbarrier) {
      request.to = to;
      request.mbarrier = mbarrier;
      return issue(warp, in, lane, request);
    };
    const bool issued = (in.flags & kMulticast) == 0
                            ? one(request.to, request.mbarrier)
                            : each_destination(warp, in, lane, warp.at<Word>(in.e)[lane] & 0xffff, request.to,
                                               request.mbarrier, one);
    if (!issued) return;
  }
}

// a: address; c: bytes. Fetching is not modelled, what it needs is.
void prefetch(Warp& warp, const Instruction& in) {
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Word bytes = warp.at<Word>(in.c)[lane];
    if (bytes % kUnit != 0)
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        fmt::format("cp.async.bulk.prefetch of {} bytes, which is not a multiple of {}", bytes, kUnit));
    if (!aligned(warp, in, lane, warp.at<Quad>(in.a)[lane], kUnit)) return;
  }
}

constexpr std::array<std::string_view, 8> kReductions = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

Combine take_reduction(Modifiers& modifiers, const ptx::Statement& statement, bool to_global) {
  modifiers.take("noftz");
  const ptx::Type type = modifiers.take_type();
  const int operation = modifiers.take_any(kReductions);
  if (operation < 0) throw Unsupported{statement.opcode};
  const Combine combine = find_reduction(
      fmt::format("{}.{}", kReductions[static_cast<std::size_t>(operation)], ptx::name_of(type)), to_global);
  if (combine == nullptr) throw Unsupported{statement.opcode};
  return combine;
}

// cp{.reduce}.async.bulk.<to>.<from>... [to], [from], bytes{, [mbarrier]}{, blocks}{, cache policy}
void build_copy(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  for (const char* name : {"async", "bulk", "L2::cache_hint"}) modifiers.take(name);
  const bool to_global = statement.opcode.find(".global.shared::cta") != std::string::npos,
             from_global = !to_global && modifiers.take("global"), multicast = modifiers.take("multicast::cluster");
  if (to_global) {
    modifiers.take("global");
    if (!modifiers.take("shared::cta") || !modifiers.take("bulk_group")) throw Unsupported{statement.opcode};
  } else {
    const bool to_cluster = modifiers.take("shared::cluster"), cta = modifiers.take("shared::cta");
    if (!modifiers.take("mbarrier::complete_tx::bytes") || (from_global ? to_cluster == cta : !(to_cluster && cta)))
      throw Unsupported{statement.opcode};
  }
  const bool reduces = modifiers.take("reduce");
  const Combine combine = reduces ? take_reduction(modifiers, statement, to_global) : nullptr;
  modifiers.finish();
  const auto& operands = statement.operands;
  const std::size_t needed = 3 + (to_global ? 0 : 1) + (multicast ? 1 : 0);
  if (operands.size() < needed) throw Unsupported{statement.opcode};
  const Word to = effective_address(decoder, decoder.address(operands[0])),
             from = effective_address(decoder, decoder.address(operands[1])),
             bytes = decoder.source(operands[2], Slot::word),
             mbarrier = to_global ? 0 : effective_address(decoder, decoder.address(operands[3])),
             blocks = multicast ? decoder.source(operands[4], Slot::word) : 0;
  const Route route = to_global     ? Route::shared_to_global
                      : from_global ? Route::global_to_shared
                                    : Route::shared_to_shared;
  Instruction& in = decoder.emit(copy);
  in.a = from;
  in.b = to;
  in.c = bytes;
  in.d = mbarrier;
  in.e = blocks;
  in.immediate = reinterpret_cast<Quad>(combine);
  in.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(route) | (multicast ? kMulticast : 0));
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

// cp.async.bulk.prefetch.L2.global [from], bytes{, cache policy}
void build_prefetch(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  if (statement.operands.size() < 2) throw Unsupported{statement.opcode};
  const Word from = effective_address(decoder, decoder.address(statement.operands[0])),
             bytes = decoder.source(statement.operands[1], Slot::word);
  Instruction& in = decoder.emit(prefetch);
  in.a = from;
  in.c = bytes;
}

}  // namespace

void add_bulk(Table& table) {
  table.add_all({{"cp.async.bulk", nullptr, {}, build_copy},
                 {"cp.reduce.async.bulk", nullptr, {}, build_copy},
                 {"cp.async.bulk.prefetch.L2.global", nullptr, {}, build_prefetch}});
}

}  // namespace pkb::virtual_gpu
