// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/wide.h"

#include <emmintrin.h>
#include <array>
#include <bit>
#include <cstdint>

#include "harness/virtual_gpu/exec/lanes.h"

// Registers of 128 bits: the low halves of all lanes, then the high ones. An access of 16 aligned bytes is
// one of the host too (a vector one, which processors with AVX make atomic, or cmpxchg16b).
namespace pkb::virtual_gpu {
namespace {

using Quad = std::uint64_t;
__extension__ using Wide = unsigned __int128;

constexpr std::uint32_t kHigh = sizeof(Quad) * kLanes;  // from the low halves to the high ones
constexpr std::uint64_t kBytes = sizeof(Wide);

Wide wide_at(Warp& warp, std::uint32_t offset, int lane) {
  return Wide{warp.at<Quad>(offset + kHigh)[lane]} << 64 | warp.at<Quad>(offset)[lane];
}
void set_wide(Warp& warp, std::uint32_t offset, int lane, Wide value) {
  warp.at<Quad>(offset)[lane] = static_cast<Quad>(value);
  warp.at<Quad>(offset + kHigh)[lane] = static_cast<Quad>(value >> 64);
}

template <class Space>
struct Load {
  static void handler(Warp& warp, const Instruction& in) {
    const Accesses<Space> access(warp, in, kBytes, Access::read);
    for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const std::byte* from = access(warp, in, lane, kBytes, Access::read);
      if (from == nullptr) return;
      const StrongAccess bracket(warp, in, Space::kSpace, lane, access.address(lane), kBytes,
                                 check::Access::Kind::read);
      set_wide(warp, in.d, lane,
               std::bit_cast<Wide>(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
    }
  }
};

template <class Space>
struct Store {
  static void handler(Warp& warp, const Instruction& in) {
    warp.progress();
    const Accesses<Space> access(warp, in, kBytes, Access::write);
    for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      std::byte* to = access(warp, in, lane, kBytes, Access::write);
      if (to == nullptr) return;
      const StrongAccess bracket(warp, in, Space::kSpace, lane, access.address(lane), kBytes,
                                 check::Access::Kind::write);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), std::bit_cast<__m128i>(wide_at(warp, in.b, lane)));
    }
  }
};

// d: old value, a: address, b: new value
template <class Space>
struct Exchange {
  static void handler(Warp& warp, const Instruction& in) {
    warp.progress();
    const Accesses<Space> access(warp, in, kBytes, Access::write);
    for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      auto* at = reinterpret_cast<Wide*>(access(warp, in, lane, kBytes, Access::write));
      if (at == nullptr) return;
      const StrongAccess bracket(warp, in, Space::kSpace, lane, access.address(lane), kBytes,
                                 check::Access::Kind::update);
      Wide old = 0;
      for (Wide seen = 0; (seen = __sync_val_compare_and_swap(at, old, wide_at(warp, in.b, lane))) != old;)
        old = seen;
      set_wide(warp, in.d, lane, old);
    }
  }
};

// d: old value, a: address, b: expected, c: new value
template <class Space>
struct CompareAndSwap {
  static void handler(Warp& warp, const Instruction& in) {
    const Accesses<Space> access(warp, in, kBytes, Access::write);
    for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      auto* at = reinterpret_cast<Wide*>(access(warp, in, lane, kBytes, Access::write));
      if (at == nullptr) return;
      StrongAccess bracket(warp, in, Space::kSpace, lane, access.address(lane), kBytes,
                           check::Access::Kind::update);
      const Wide expected = wide_at(warp, in.b, lane), wanted = wide_at(warp, in.c, lane);
      const Wide old = __sync_val_compare_and_swap(at, expected, wanted);
      if (old != expected) bracket.only_read();
      if (old == expected && old != wanted) warp.progress();
      set_wide(warp, in.d, lane, old);
    }
  }
};

template <template <class> class Kind>
struct Handlers {
  template <class Space>
  struct Select {
    static constexpr Handler handler = Kind<Space>::handler;
  };
};

template <template <class> class Kind>
Instruction& emit_access(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                         Ordering ordering) {
  const Handler handler = in_space<Handlers<Kind>::template Select>(place);
  if (handler == nullptr) throw Unsupported{statement.opcode + " with a 32-bit address"};
  Instruction& in = decoder.emit(handler);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.flags = ordering.flags();
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
  return in;
}

bool is_wide(const Decoder& decoder, const ptx::Operand& operand) {
  return operand.kind == ptx::Operand::Kind::reg &&
         decoder.function().registers[operand.index].type == ptx::Type::b128;
}

std::uint32_t wide_register(const Decoder& decoder, const ptx::Statement& statement, std::size_t operand) {
  if (operand >= statement.operands.size() || !is_wide(decoder, statement.operands[operand]))
    throw Unsupported{statement.opcode + " with an operand of that kind"};
  return decoder.layout().slot[statement.operands[operand].index];
}

Quad join(std::uint32_t low, std::uint32_t high) { return Quad{high} << 32 | low; }
std::uint32_t low(Quad value) { return static_cast<std::uint32_t>(value); }
std::uint32_t high(Quad value) { return static_cast<std::uint32_t>(value >> 32); }
Quad same(Quad value) { return value; }

template <auto f>
constexpr Handler kHandler = LaneWise<f, false>::execute;

Instruction& emit_copy(Decoder& decoder, Handler handler, std::uint32_t to, std::uint32_t from) {
  Instruction& in = decoder.emit(handler);
  in.d = to;
  in.a = from;
  return in;
}

// Halves or quarters, the low ones first.
void unpack(Decoder& decoder, const std::vector<ptx::Operand>& parts, std::uint32_t from) {
  const bool halves = parts.size() == 2;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].kind == ptx::Operand::Kind::sink) continue;
    const bool upper = i >= parts.size() / 2;
    const std::uint32_t to = decoder.destination(parts[i], halves ? Slot::quad : Slot::word);
    emit_copy(decoder,
              halves       ? kHandler<same>
              : i % 2 == 0 ? kHandler<low>
                           : kHandler<high>,
              to, from + (upper ? kHigh : 0));
  }
}

void pack(Decoder& decoder, std::uint32_t to, const std::vector<ptx::Operand>& parts) {
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint32_t at = to + (half == 0 ? 0 : kHigh);
    if (parts.size() == 2) {
      const std::uint32_t from = decoder.source(parts[half], Slot::quad);
      emit_copy(decoder, kHandler<same>, at, from);
    } else {
      const std::uint32_t first = decoder.source(parts[2 * half], Slot::word),
                          second = decoder.source(parts[2 * half + 1], Slot::word);
      emit_copy(decoder, kHandler<join>, at, first).b = second;
    }
  }
}

void build_move(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const auto& operands = statement.operands;
  if (operands.size() != 2) throw Unsupported{statement.opcode};
  const auto is_parts = [](const ptx::Operand& operand) {
    return operand.kind == ptx::Operand::Kind::vector &&
           (operand.elements.size() == 2 || operand.elements.size() == 4);
  };
  if (is_parts(operands[0]))
    return unpack(decoder, operands[0].elements, wide_register(decoder, statement, 1));
  const std::uint32_t to = wide_register(decoder, statement, 0);
  if (is_parts(operands[1])) return pack(decoder, to, operands[1].elements);
  const std::uint32_t from = wide_register(decoder, statement, 1);
  for (const std::uint32_t half : {0u, kHigh}) emit_copy(decoder, kHandler<same>, to + half, from + half);
}

}  // namespace

void emit_wide_load(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                    Ordering ordering) {
  const std::uint32_t to = wide_register(decoder, statement, 0);
  emit_access<Load>(decoder, statement, place, ordering).d = to;
}

void emit_wide_store(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                     Ordering ordering) {
  const std::uint32_t from = wide_register(decoder, statement, 1);
  emit_access<Store>(decoder, statement, place, ordering).b = from;
}

void emit_wide_atomic(Decoder& decoder, const ptx::Statement& statement, const Place& place,
                      Ordering ordering, bool swaps) {
  if (place.space != ptx::Space::global && place.space != ptx::Space::shared &&
      place.space != ptx::Space::generic)
    throw Unsupported{statement.opcode + " with such an address"};
  const std::uint32_t to = wide_register(decoder, statement, 0), first = wide_register(decoder, statement, 2),
                      wanted = swaps ? wide_register(decoder, statement, 3) : 0;
  Instruction& in = swaps ? emit_access<CompareAndSwap>(decoder, statement, place, ordering)
                          : emit_access<Exchange>(decoder, statement, place, ordering);
  in.d = to;
  in.b = first;
  in.c = wanted;
}

void add_wide(Table& table) { table.add({"mov.b128", nullptr, {}, build_move}); }

}  // namespace pkb::virtual_gpu
