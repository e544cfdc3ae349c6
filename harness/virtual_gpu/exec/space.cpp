// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/space.h"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/cluster.h"
#include "harness/virtual_gpu/exec/lanes.h"

namespace pkb::virtual_gpu {
namespace {

const char* verb(Access access) { return access == Access::write ? "write" : "read"; }

std::byte* in_shared(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint64_t bytes,
                     Access access) {
  BlockState& own = warp.block();
  const auto [block, offset] = own.locate(address);
  const auto refuse = [&](const std::string& why) {
    warp.fault(in, lane, Fault::Kind::illegal_address, address,
               fmt::format("{} of {} bytes at shared address {:#x}, but {}", verb(access), bytes, address, why));
    return nullptr;
  };
  if (block == nullptr)
    return refuse(fmt::format("the cluster has {} blocks", own.cluster().size()));
  if (block != &own && block->has_exited())
    return refuse(fmt::format("block ({},{},{}) of the cluster, whose memory that is, has exited",
                              block->index().x, block->index().y, block->index().z));
  if (offset > block->shared_bytes() || bytes > block->shared_bytes() - offset)
    return refuse(fmt::format("the block has {} bytes of shared memory", block->shared_bytes()));
  return block->shared() + offset;
}

std::byte* in_local(Warp& warp, const Instruction& in, int lane, std::uint64_t offset, std::uint64_t bytes,
                    Access access) {
  const Kernel::Function& function = warp.block().kernel().functions[warp.frame().function];
  const std::uint64_t end = warp.frame().local_base + function.local_bytes + warp.frame().allocated;
  if (offset <= end && bytes <= end - offset) return warp.local(lane, offset, bytes);
  warp.fault(in, lane, Fault::Kind::illegal_address, offset,
             fmt::format("{} of {} bytes at local address {:#x}, but the thread has {} bytes of local memory",
                         verb(access), bytes, offset, end));
  return nullptr;
}

std::byte* in_parameters(Warp& warp, const Instruction& in, int lane, std::uint64_t offset,
                         std::uint64_t bytes, Access access) {
  const std::vector<std::byte>& parameters = warp.block().launch().parameters;
  const std::uint64_t size = parameters.size();
  if (access == Access::read && offset <= size && bytes <= size - offset)
    return const_cast<std::byte*>(parameters.data()) + offset;  // read only: see `access`
  warp.fault(in, lane, Fault::Kind::illegal_address, offset,
             fmt::format("{} of {} bytes at offset {} of {} bytes of kernel parameters", verb(access), bytes,
                         offset, size));
  return nullptr;
}

std::byte* in_global(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint64_t bytes,
                     Access access) {
  BlockState& block = warp.block();
  const auto slot = static_cast<std::uint32_t>(in.target);
  if (std::byte* found = block.global(slot, address, bytes, access == Access::write)) return found;
  warp.fault(in, lane, Fault::Kind::illegal_address, address,
             fmt::format("{} of {} bytes at {:#x}, {}", verb(access), bytes, address,
                         block.describe(address, bytes)));
  return nullptr;
}

template <class Slot>
void add_address(Warp& warp, const Instruction& in) {
  const Slot* base = warp.at<Slot>(in.a);
  const Slot offset = static_cast<Slot>(in.immediate);
  write<std::uint64_t>(warp, in.d, [&](int lane) { return static_cast<Slot>(base[lane] + offset); });
}

}  // namespace

Where where_is(ptx::Space space, std::uint64_t& address) {
  switch (space) {
    case ptx::Space::generic:
      for (const auto& [window, region] : {std::pair{kSharedWindow, Where::shared},
                                           std::pair{kLocalWindow, Where::local},
                                           std::pair{kParameterWindow, Where::parameter}}) {
        if (address - window >= kSharedWindow) continue;
        address -= window;
        return region;
      }
      return Where::global;
    case ptx::Space::global:
    case ptx::Space::constant:
      return Where::global;
    case ptx::Space::shared:
      return Where::shared;
    case ptx::Space::local:
      return Where::local;
    case ptx::Space::param:
      return Where::parameter;
  }
  return Where::global;
}

std::byte* lane_range(Warp& warp, const Instruction& in, int lane, ptx::Space space, std::uint64_t address,
                      std::uint64_t bytes, Access access) {
  switch (where_is(space, address)) {
    case Where::global:
      return in_global(warp, in, lane, address, bytes, access);
    case Where::shared:
      return in_shared(warp, in, lane, address, bytes, access);
    case Where::local:
      return in_local(warp, in, lane, address, bytes, access);
    case Where::parameter:
      return in_parameters(warp, in, lane, address, bytes, access);
  }
  return nullptr;
}

std::byte* lane_address(Warp& warp, const Instruction& in, int lane, ptx::Space space, std::uint64_t address,
                        std::uint64_t bytes, Access access) {
  if ((address & (bytes - 1)) != 0) {
    warp.fault(in, lane, Fault::Kind::misaligned, address,
               fmt::format("{} of {} bytes at {:#x}, which is not a multiple of {}", verb(access), bytes,
                           address, bytes));
    return nullptr;
  }
  std::byte* found = lane_range(warp, in, lane, space, address, bytes, access);
  if (found == nullptr) return nullptr;
  const Where region = where_is(space, address);
  if (region == Where::global)
    warp.block().count_global(static_cast<std::uint32_t>(in.target), bytes, access == Access::write);
  else if (region == Where::shared)
    warp.block().count_shared(bytes, access == Access::write);
  return found;
}

bool aligned(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint64_t alignment) {
  if (address % alignment == 0) return true;
  warp.fault(in, lane, Fault::Kind::misaligned, address,
             fmt::format("{} with address {:#x}, which is not a multiple of {}",
                         warp.block().kernel().places[in.place].opcode, address, alignment));
  return false;
}

std::uint32_t effective_address(Decoder& decoder, const Decoder::Address& address) {
  if (address.slot == Slot::quad && address.immediate == 0) return address.base;
  const std::uint32_t to = decoder.temporary(Slot::quad);
  Instruction& in = decoder.emit(address.slot == Slot::quad ? add_address<std::uint64_t> : add_address<std::uint32_t>);
  in.d = to;
  in.a = address.base;
  in.immediate = address.immediate;
  return to;
}

Place take_place(Decoder& decoder, Modifiers& modifiers, const ptx::Operand& operand) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "global", "shared", "shared::cta",  "shared::cluster", "local",
      "const",  "param",  "param::entry", "param::func"};
  static constexpr std::array<ptx::Space, 9> kSpaces = {
      ptx::Space::global,   ptx::Space::shared, ptx::Space::shared, ptx::Space::shared, ptx::Space::local,
      ptx::Space::constant, ptx::Space::param,  ptx::Space::param,  ptx::Space::param};
  const int named = modifiers.take_any(kNames);
  Place place{named < 0 ? ptx::Space::generic : kSpaces[static_cast<std::size_t>(named)],
              decoder.address(operand)};
  if (place.space == ptx::Space::param) {
    // Parameters of a function, and those of the calls it makes, stand in local memory here.
    const auto symbol = operand.name.empty() ? std::nullopt : decoder.symbol(operand.name);
    if (symbol ? symbol->space == ptx::Space::local : !decoder.in_kernel()) place.space = ptx::Space::local;
  }
  if (place.space == ptx::Space::local && !operand.has_base) {
    ptx::Operand symbol = operand;
    symbol.kind = ptx::Operand::Kind::symbol;
    place.address = {decoder.source(symbol, Slot::quad), Slot::quad, 0};
  }
  return place;
}

Ordering take_ordering(Modifiers& modifiers) {
  using check::Order;
  using check::Scope;
  static constexpr std::array<std::string_view, 4> kOrders = {"relaxed", "acquire", "release", "acq_rel"};
  static constexpr std::array<std::string_view, 4> kScopes = {"cta", "cluster", "gpu", "sys"};
  const int order = modifiers.take_any(kOrders), scope = modifiers.take_any(kScopes);
  Ordering ordering{order >= 0 ? static_cast<Order>(order + 1) : Order::weak, Scope::gpu};
  if (scope >= 0) ordering.scope = static_cast<Scope>(scope);
  // The ISA gives both the meaning of relaxed accesses with system scope.
  for (const char* name : {"volatile", "mmio"})
    if (modifiers.take(name)) ordering = {Order::relaxed, Scope::sys};
  modifiers.take("weak");
  for (const char* name : {"gl",
                           "nc",
                           "unified",
                           "ca",
                           "cg",
                           "cs",
                           "lu",
                           "cv",
                           "wb",
                           "wt",
                           "L1::evict_normal",
                           "L1::evict_unchanged",
                           "L1::evict_first",
                           "L1::evict_last",
                           "L1::no_allocate",
                           "L2::evict_normal",
                           "L2::evict_first",
                           "L2::evict_last",
                           "L2::cache_hint",
                           "L2::64B",
                           "L2::128B",
                           "L2::256B"})
    modifiers.take(name);
  return ordering;
}

}  // namespace pkb::virtual_gpu
