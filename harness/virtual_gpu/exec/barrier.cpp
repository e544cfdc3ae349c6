// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/lanes.h"

// Barriers of a block and fences (PTX ISA 9.7.13).
namespace pkb::virtual_gpu {
namespace {

enum Reduction : std::uint8_t { kNone, kPopc, kAnd, kOr };

// a: barrier number, b: thread count or 0, c: predicate, d: result, flags: reduction.
// The aligned form, which bar and __syncthreads() are, is for whole warps: its threads gather there first.
template <bool waits, bool aligned>
void barrier(Warp& warp, const Instruction& in) {
  if (aligned && !warp.gathered(in, kAllLanes)) return;
  const int lane = warp.first_lane();
  BlockState::Arrival arrival;
  arrival.id = warp.at<std::uint32_t>(in.a)[lane];
  arrival.threads = warp.at<std::uint32_t>(in.b)[lane];
  arrival.waits = waits;
  arrival.reduces = in.flags != kNone;
  if (arrival.reduces) arrival.predicate = warp.predicate(in.c);
  warp.block().arrive(warp, in, arrival);
}

void warp_barrier(Warp& warp, const Instruction& in) {
  const std::uint32_t* const masks = warp.at<std::uint32_t>(in.a);
  std::uint32_t all = 0;
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) all |= masks[std::countr_zero(left)];
  if (!warp.gathered(in, all)) return;
  warp.block().release_stores(warp.index(), warp.mask(), check::Scope::cta);
  check::BlockCheck* const check = warp.block().check();
  // Parts of a warp that run together may synchronise each for itself.
  for (std::uint32_t left = warp.mask(); check != nullptr && left != 0;) {
    const std::uint32_t members = masks[std::countr_zero(left)];
    check->warp_sync(warp.index(), warp.mask() & members);
    left &= ~(members | 1u << std::countr_zero(left));
  }
}

// flags: scope. Ordering between the threads of this process comes with its memory model; other processes need
// the fence.
void fence(Warp& warp, const Instruction& in) {
  const auto scope = static_cast<check::Scope>(in.flags);
  warp.block().release_stores(warp.index(), warp.mask(), scope);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (check::BlockCheck* const check = warp.block().check()) check->fence(warp.index(), warp.mask(), scope, in.place);
}
enum ProxyFence : std::uint8_t { kOtherProxy, kAsyncProxy, kAliasProxy };

// Orders nothing between generic accesses by the same addresses. in.flags: which proxies.
void proxy_fence(Warp& warp, const Instruction& in) {
  warp.block().release_stores(warp.index(), warp.mask(), check::Scope::sys);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  check::BlockCheck* const check = warp.block().check();
  if (check == nullptr) return;
  if (in.flags == kAsyncProxy) check->proxy_fence(warp.index(), warp.mask());
  if (in.flags == kAliasProxy) check->alias_fence(warp.index(), warp.mask());
}
void nap(Warp& warp, const Instruction&) { warp.idle(); }

void build_barrier(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("cta");
  const bool aligned = modifiers.take("aligned") || statement.opcode.starts_with("bar.");
  const auto& operands = statement.operands;
  if (modifiers.take("warp")) {
    modifiers.take("sync");
    modifiers.finish();
    const std::uint32_t members = decoder.source(operands.at(0), Slot::word);
    decoder.emit_control(warp_barrier).a = members;
    return;
  }
  const bool reduces = modifiers.take("red"), arrives = modifiers.take("arrive");
  modifiers.take("sync");
  std::size_t at = 0;
  std::uint32_t to = 0, predicate = 0;
  Reduction reduction = kNone;
  Slot slot = Slot::word;
  if (reduces) {
    static constexpr std::array<std::string_view, 3> kReductions = {"popc", "and", "or"};
    const int which = modifiers.take_any(kReductions);
    if (which < 0) throw Unsupported{statement.opcode};
    reduction = static_cast<Reduction>(which + 1);
    if (reduction != kPopc) slot = Slot::predicate;
    modifiers.take_type();
    to = decoder.destination(operands.at(at++), slot);
    predicate = decoder.source(operands.back(), Slot::predicate);
  }
  modifiers.finish();
  const std::size_t end = operands.size() - (reduces ? 1 : 0);
  const std::uint32_t id =
      at < end ? decoder.source(operands[at++], Slot::word) : decoder.constant(0, Slot::word);
  const std::uint32_t threads =
      at < end ? decoder.source(operands[at++], Slot::word) : decoder.constant(0, Slot::word);
  Instruction& in = decoder.emit_control(arrives ? (aligned ? barrier<false, true> : barrier<false, false>)
                                                  : (aligned ? barrier<true, true> : barrier<true, false>));
  in.d = to;
  in.a = id;
  in.b = threads;
  in.c = predicate;
  in.flags = reduction;
}

// membar{.proxy}.{cta, gl, sys}, fence{.sc, .acq_rel}.scope, fence.proxy..., fence.mbarrier_init...
void build_fence(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const std::string_view opcode = statement.opcode;
  const auto has = [&](std::string_view word) { return opcode.find(word) != std::string_view::npos; };
  if (has(".proxy") || has(".mbarrier_init")) {
    decoder.emit(proxy_fence).flags = has(".proxy.async") ? kAsyncProxy : has(".proxy.alias") ? kAliasProxy : kOtherProxy;
    return;
  }
  const check::Scope scope = has(".cta")       ? check::Scope::cta
                             : has(".cluster") ? check::Scope::cluster
                             : has(".sys")     ? check::Scope::sys
                                               : check::Scope::gpu;
  decoder.emit(fence).flags = static_cast<std::uint8_t>(scope);
}

void build_simple(Decoder& decoder, const ptx::Statement&, const Entry& entry) {
  decoder.emit(entry.handler);
}

}  // namespace

void finish_barrier(const Fragment& fragment, const Barrier& barrier) {
  const Instruction& in = fragment.next[-1];
  std::byte* to = fragment.frame->registers + in.d;
  const auto set = [&](bool value) {
    auto& lanes = *reinterpret_cast<std::uint32_t*>(to);
    lanes = value ? lanes | fragment.lanes : lanes & ~fragment.lanes;
  };
  switch (static_cast<Reduction>(in.flags)) {
    case kNone:
      break;
    case kPopc:
      for (std::uint32_t left = fragment.lanes; left != 0; left &= left - 1)
        reinterpret_cast<std::uint32_t*>(to)[std::countr_zero(left)] = barrier.holds;
      break;
    case kAnd:
      set(barrier.holds == barrier.reducing);
      break;
    case kOr:
      set(barrier.holds != 0);
      break;
  }
}

void add_barrier(Table& table) {
  table.add_all({{"bar", nullptr, {}, build_barrier},
                 {"barrier", nullptr, {}, build_barrier},
                 {"membar", nullptr, {}, build_fence},
                 {"fence", nullptr, {}, build_fence},
                 {"nanosleep", nap, {}, build_simple}});
}

}  // namespace pkb::virtual_gpu
