// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/space.h"

#include <array>

#include <fmt/format.h>

namespace pkb::virtual_gpu {
namespace {

const char* verb(Access access) { return access == Access::write ? "write" : "read"; }

std::byte* in_shared(Warp& warp, const Instruction& in, int lane, std::uint64_t offset, std::uint64_t bytes,
                     Access access) {
  BlockState& block = warp.block();
  if (offset <= block.shared_bytes() && bytes <= block.shared_bytes() - offset) {
    block.count_shared(bytes, access == Access::write);
    return block.shared() + offset;
  }
  warp.fault(
      in, lane, Fault::Kind::illegal_address, offset,
      fmt::format("{} of {} bytes at shared address {:#x}, but the block has {} bytes of shared memory",
                  verb(access), bytes, offset, block.shared_bytes()));
  return nullptr;
}

std::byte* in_local(Warp& warp, const Instruction& in, int lane, std::uint64_t offset, std::uint64_t bytes,
                    Access access) {
  const Kernel::Function& function = warp.block().kernel().functions[warp.frame().function];
  const std::uint64_t end = warp.frame().local_base + function.local_bytes;
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
  if (std::byte* found = block.global(slot, address, bytes, access == Access::write)) {
    block.count_global(slot, bytes, access == Access::write);
    return found;
  }
  warp.fault(in, lane, Fault::Kind::illegal_address, address,
             fmt::format("{} of {} bytes at {:#x}, {}", verb(access), bytes, address,
                         block.describe(address, bytes)));
  return nullptr;
}

}  // namespace

std::byte* lane_address(Warp& warp, const Instruction& in, int lane, ptx::Space space, std::uint64_t address,
                        std::uint64_t bytes, Access access) {
  if ((address & (bytes - 1)) != 0) {
    warp.fault(in, lane, Fault::Kind::misaligned, address,
               fmt::format("{} of {} bytes at {:#x}, which is not a multiple of {}", verb(access), bytes,
                           address, bytes));
    return nullptr;
  }
  switch (space) {
    case ptx::Space::generic:
      if (address - kSharedWindow < kSharedWindow)
        return in_shared(warp, in, lane, address - kSharedWindow, bytes, access);
      if (address - kLocalWindow < kSharedWindow)
        return in_local(warp, in, lane, address - kLocalWindow, bytes, access);
      if (address - kParameterWindow < kSharedWindow)
        return in_parameters(warp, in, lane, address - kParameterWindow, bytes, access);
      return in_global(warp, in, lane, address, bytes, access);
    case ptx::Space::global:
    case ptx::Space::constant:
      return in_global(warp, in, lane, address, bytes, access);
    case ptx::Space::shared:
      return in_shared(warp, in, lane, address, bytes, access);
    case ptx::Space::local:
      return in_local(warp, in, lane, address, bytes, access);
    case ptx::Space::param:
      return in_parameters(warp, in, lane, address, bytes, access);
  }
  return nullptr;
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

bool take_ordering(Modifiers& modifiers) {
  bool strong = false;
  for (const char* name : {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
    strong |= modifiers.take(name);
  modifiers.take("weak");
  for (const char* name : {"cta",
                           "cluster",
                           "gpu",
                           "sys",
                           "gl",
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
  return strong;
}

}  // namespace pkb::virtual_gpu
