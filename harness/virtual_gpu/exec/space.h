// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/warp.h"

/// State spaces as the memory instructions see them. A memory instruction's fields: `a` the offset of the
/// addresses, `immediate` what is added to them, `target` its number among Kernel::memory_accesses.
namespace pkb::virtual_gpu {

enum class Access : std::uint8_t { read, write };

inline constexpr std::uint8_t kWideAddress = 1 << 5;  ///< flags of ld and atom: addresses take 64 bits each


/// Which space an address belongs to; a generic address by its window.
enum class Where : std::uint8_t { global, shared, local, parameter };
/// Makes `address` one within that.
Where where_is(ptx::Space space, std::uint64_t& address);

/// Host address of one lane's `bytes` bytes, or null after a fault of `warp`. Knows every space and case;
/// what the fast paths refuse comes here.
std::byte* lane_address(Warp& warp, const Instruction& in, int lane, ptx::Space space, std::uint64_t address,
                        std::uint64_t bytes, Access access);

/// The same for a range that need not be aligned nor be of a power of two; what is done with it is not counted.
std::byte* lane_range(Warp& warp, const Instruction& in, int lane, ptx::Space space, std::uint64_t address,
                      std::uint64_t bytes, Access access);

/// Whether `address` is a multiple of `alignment`; if not, `warp` has a fault.
bool aligned(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::uint64_t alignment);

/// How the checks see the access to a tile, which may reach beyond what its matrix holds.
constexpr check::Access::Kind tile_access(Access access) {
  return access == Access::write ? check::Access::Kind::write : check::Access::Kind::peek;
}

/// A space's fast path: `map` gives the host address of [first, first + extent) if all of that may be
/// accessed and lies together, else null. `account` counts the bytes moved.
struct GlobalSpace {
  static constexpr ptx::Space kSpace = ptx::Space::global;
  using Address = std::uint64_t;
  static std::byte* map(Warp& warp, const Instruction& in, std::uint64_t first, std::uint64_t extent,
                        Access access) {
    return warp.block().global_of_lanes(static_cast<std::uint32_t>(in.target), first, extent, access == Access::write);
  }
  static void account(Warp& warp, const Instruction& in, std::uint64_t, std::uint64_t bytes, Access access) {
    warp.block().count_global(static_cast<std::uint32_t>(in.target), bytes, access == Access::write);
  }
};

template <class A>
struct SharedSpace {
  static constexpr ptx::Space kSpace = ptx::Space::shared;
  using Address = A;
  static std::byte* map(Warp& warp, const Instruction&, std::uint64_t first, std::uint64_t extent, Access) {
    BlockState& block = warp.block();
    return first <= block.shared_bytes() && extent <= block.shared_bytes() - first ? block.shared() + first
                                                                                   : nullptr;
  }
  static void account(Warp& warp, const Instruction&, std::uint64_t, std::uint64_t bytes, Access access) {
    warp.block().count_shared(bytes, access == Access::write);
  }
};

struct GenericSpace {
  static constexpr ptx::Space kSpace = ptx::Space::generic;
  using Address = std::uint64_t;
  static std::byte* map(Warp& warp, const Instruction& in, std::uint64_t first, std::uint64_t extent,
                        Access access) {
    if (first < kSharedWindow) return GlobalSpace::map(warp, in, first, extent, access);
    if (first - kSharedWindow < kSharedWindow)
      return SharedSpace<std::uint64_t>::map(warp, in, first - kSharedWindow, extent, access);
    return nullptr;
  }
  static void account(Warp& warp, const Instruction& in, std::uint64_t first, std::uint64_t bytes,
                      Access access) {
    if (first < kSharedWindow)
      GlobalSpace::account(warp, in, first, bytes, access);
    else
      SharedSpace<std::uint64_t>::account(warp, in, first, bytes, access);
  }
};

/// Local and parameter space: always lane by lane.
template <class A, ptx::Space space>
struct SlowSpace {
  static constexpr ptx::Space kSpace = space;
  using Address = A;
  static std::byte* map(Warp&, const Instruction&, std::uint64_t, std::uint64_t, Access) { return nullptr; }
  static void account(Warp&, const Instruction&, std::uint64_t, std::uint64_t, Access) {}
};

/// Host addresses of a warp's accesses: `base + offset[lane]` where they lie together, else looked up singly.
template <class Space>
class Accesses {
 public:
  using Address = typename Space::Address;

  Accesses(Warp& warp, const Instruction& in, std::uint64_t bytes, Access access)
      : x_addresses(warp.at<Address>(in.a)), x_immediate(static_cast<Address>(in.immediate)) {
    release_before(warp, in);
    const std::uint32_t mask = warp.mask();
    Address least = ~Address{0}, most = 0, bits = 0;
    for (std::uint32_t left = mask; left != 0; left &= left - 1) {
      const Address address = at(std::countr_zero(left));
      least = std::min(least, address);
      most = std::max(most, address);
      bits |= address;
    }
    x_first = least;
    if ((bits & (bytes - 1)) == 0)
      x_base = Space::map(warp, in, least, std::uint64_t{most} - least + bytes, access);
    if (x_base != nullptr)
      Space::account(warp, in, least, bytes * static_cast<std::uint64_t>(std::popcount(mask)), access);
    // What is strong is checked by the StrongAccess that brackets it.
    x_checks = warp.block().check() != nullptr && !Ordering::of(in).is_strong();
    if (x_checks && x_base != nullptr) {
      std::uint64_t addresses[kLanes];
      for (std::uint32_t left = mask; left != 0; left &= left - 1)
        addresses[std::countr_zero(left)] = at(std::countr_zero(left));
      check_lanes(warp, in, Space::kSpace, mask, addresses, static_cast<std::uint32_t>(bytes), kind_of(access), {});
    }
  }

  /// Null after a fault.
  std::byte* operator()(Warp& warp, const Instruction& in, int lane, std::uint64_t bytes,
                        Access access) const {
    if (x_base != nullptr) [[likely]]
      return x_base + (at(lane) - x_first);
    std::byte* const found = lane_address(warp, in, lane, Space::kSpace, at(lane), bytes, access);
    if (x_checks && found != nullptr)
      check_lane(warp, in, Space::kSpace, lane, at(lane), static_cast<std::uint32_t>(bytes), kind_of(access));
    return found;
  }

  std::uint64_t address(int lane) const { return at(lane); }

 private:
  static check::Access::Kind kind_of(Access access) {
    return access == Access::write ? check::Access::Kind::write : check::Access::Kind::read;
  }
  Address at(int lane) const { return static_cast<Address>(x_addresses[lane] + x_immediate); }

  const Address* x_addresses;
  Address x_immediate, x_first = 0;
  std::byte* x_base = nullptr;
  bool x_checks = false;
};

/// The state space and address of a memory statement's address operand.
struct Place {
  ptx::Space space;
  Decoder::Address address;
};
/// Takes the space off `modifiers` (generic without one). Throws Unsupported.
Place take_place(Decoder& decoder, Modifiers& modifiers, const ptx::Operand& operand);
/// Where the whole address, base and immediate, stands as 64 bits a lane.
std::uint32_t effective_address(Decoder& decoder, const Decoder::Address& address);
/// Takes ordering, scope, cache and prefetch modifiers off.
Ordering take_ordering(Modifiers& modifiers);

/// The handler for a space and address width from a template over spaces.
template <template <class> class Select>
Handler in_space(const Place& place) {
  const bool quad = place.address.slot == Slot::quad;
  using Word = std::uint32_t;
  using Quad = std::uint64_t;
  switch (place.space) {
    case ptx::Space::global:
    case ptx::Space::constant:
      return quad ? Select<GlobalSpace>::handler : nullptr;
    case ptx::Space::generic:
      return quad ? Select<GenericSpace>::handler : nullptr;
    case ptx::Space::shared:
      return quad ? Select<SharedSpace<Quad>>::handler : Select<SharedSpace<Word>>::handler;
    case ptx::Space::local:
      return quad ? Select<SlowSpace<Quad, ptx::Space::local>>::handler
                  : Select<SlowSpace<Word, ptx::Space::local>>::handler;
    case ptx::Space::param:
      return quad ? Select<SlowSpace<Quad, ptx::Space::param>>::handler
                  : Select<SlowSpace<Word, ptx::Space::param>>::handler;
  }
  return nullptr;
}

}  // namespace pkb::virtual_gpu
