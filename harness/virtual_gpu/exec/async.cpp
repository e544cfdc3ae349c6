// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// cp.async (PTX ISA 9.7.9.25.3) and mbarrier (9.7.13.15). A copy may complete at any time from its issue on:
// here it completes at once, so groups have nothing to wait for.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;

std::uint64_t address_at(Warp& warp, Slot slot, std::uint32_t offset, int lane) {
  return slot == Slot::quad ? warp.at<std::uint64_t>(offset)[lane] : warp.at<Word>(offset)[lane];
}

// a, immediate: source; b, e: destination; c: bytes to read; count: bytes to write, the rest zeros.
template <Slot slot>
void copy(Warp& warp, const Instruction& in) {
  warp.progress();
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::uint64_t from = warp.at<std::uint64_t>(in.a)[lane] + in.immediate;
    const Word wanted = std::min<Word>(warp.at<Word>(in.c)[lane], in.count);
    std::array<std::byte, 16> bytes{};
    // What is not read need not exist.
    const Word step = wanted == in.count ? wanted : 1;
    for (Word i = 0; i < wanted; i += step) {
      const std::byte* at = lane_address(warp, in, lane, ptx::Space::global, from + i, step, Access::read);
      if (at == nullptr) return;
      std::memcpy(bytes.data() + i, at, step);
    }
    std::byte* to = lane_address(warp, in, lane, ptx::Space::shared,
                                 address_at(warp, slot, in.b, lane) + in.e, in.count, Access::write);
    if (to == nullptr) return;
    std::memcpy(to, bytes.data(), in.count);
  }
}

/// An mbarrier object. Its phase completes when no arrivals and no transaction bytes are pending.
class Mbarrier {
 public:
  static constexpr Word kMost = (1u << 20) - 1;  // of a count

  explicit Mbarrier(std::uint64_t bits) : x_bits(bits) {}
  static Mbarrier with_count(Word count) { return Mbarrier(pack(false, count, count, 0)); }

  std::uint64_t bits() const { return x_bits; }
  bool phase() const { return (x_bits >> 63) != 0; }
  Word expected() const { return static_cast<Word>(x_bits) & kMost; }
  Word pending() const { return static_cast<Word>(x_bits >> 20) & kMost; }
  std::int32_t transactions() const {
    return static_cast<std::int32_t>(static_cast<Word>(x_bits >> 40) << 11) >> 11;
  }

  void expect(std::int64_t bytes) { set(pending(), static_cast<std::int32_t>(transactions() + bytes)); }
  void arrive(Word count) {
    set(pending() - count, transactions());
    advance();
  }
  void advance() {
    if (pending() == 0 && transactions() == 0) x_bits = pack(!phase(), expected(), expected(), 0);
  }

 private:
  static std::uint64_t pack(bool phase, Word pending, Word expected, std::int32_t transactions) {
    return std::uint64_t{phase} << 63 | std::uint64_t{static_cast<Word>(transactions) & 0x1fffff} << 40 |
           std::uint64_t{pending} << 20 | expected;
  }
  void set(Word pending, std::int32_t transactions) {
    x_bits = pack(phase(), pending, expected(), transactions);
  }

  std::uint64_t x_bits;
};

enum class Action { init, invalidate, arrive, expect_and_arrive, expect, complete, wait, wait_parity };

// a, immediate: address; b: count, bytes, state or parity; d: state or whether the phase has completed;
// flags: space. Threads take turns; those of one block never run at the same time.
template <Slot slot, Action action>
void barrier(Warp& warp, const Instruction& in) {
  constexpr bool waits = action == Action::wait || action == Action::wait_parity;
  if constexpr (!waits) warp.progress();
  Word completed = 0;
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at = lane_address(warp, in, lane, static_cast<ptx::Space>(in.flags),
                                 address_at(warp, slot, in.a, lane) + in.immediate, 8,
                                 waits ? Access::read : Access::write);
    if (at == nullptr) return;
    std::uint64_t bits;
    std::memcpy(&bits, at, sizeof bits);
    Mbarrier object(bits);
    if constexpr (waits) {
      const bool phase = action == Action::wait ? Mbarrier(warp.at<std::uint64_t>(in.b)[lane]).phase()
                                                : (warp.at<Word>(in.b)[lane] & 1) != 0;
      completed |= Word{phase != object.phase()} << lane;
      continue;
    }
    const Word operand = warp.at<Word>(in.b)[lane];
    const bool arrives = action == Action::arrive || action == Action::expect_and_arrive;
    const Word count = action == Action::arrive ? operand : 1;
    if ((action == Action::init && (operand == 0 || operand > Mbarrier::kMost)) ||
        (arrives && (count == 0 || count > object.pending())))
      return warp.fault(in, lane, Fault::Kind::invalid_instruction, 0,
                        action == Action::init ? fmt::format("mbarrier.init with count {}", operand)
                                               : fmt::format("{} arrivals at an mbarrier that waits for {}",
                                                             count, object.pending()));
    if (action == Action::init) object = Mbarrier::with_count(operand);
    if (action == Action::invalidate) object = Mbarrier(0);
    if (action == Action::expect || action == Action::expect_and_arrive) object.expect(operand);
    if (action == Action::complete) {
      object.expect(-std::int64_t{operand});
      object.advance();
    }
    if (arrives) {
      warp.at<std::uint64_t>(in.d)[lane] = object.bits();
      object.arrive(count);
    }
    bits = object.bits();
    std::memcpy(at, &bits, sizeof bits);
  }
  if constexpr (waits) write<bool>(warp, in.d, [&](int lane) { return (completed >> lane & 1) != 0; });
}

template <Action action>
void emit_barrier(Decoder& decoder, const Place& place, std::uint32_t to, std::uint32_t operand) {
  Instruction& in = decoder.emit(place.address.slot == Slot::quad ? barrier<Slot::quad, action>
                                                                  : barrier<Slot::word, action>);
  in.d = to;
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = operand;
  in.flags = static_cast<std::uint8_t>(place.space);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void build_mbarrier(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  take_ordering(modifiers);
  static constexpr std::array<std::string_view, 5> kVerbs = {"init", "inval", "arrive", "test_wait",
                                                             "try_wait"};
  const int verb = modifiers.take_any(kVerbs);
  const bool expects = modifiers.take("expect_tx"), completes = modifiers.take("complete_tx");
  const bool parity = modifiers.take("parity");
  if (!modifiers.take("b64")) throw Unsupported{statement.opcode};
  const auto& operands = statement.operands;
  const std::size_t address = verb >= 2 ? 1 : 0;  // behind the destination
  if (operands.size() <= address || (verb < 0 && expects == completes)) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, operands[address]);
  modifiers.finish();
  const bool waits = verb >= 3;
  const bool needs_operand = verb != 1 && !(verb == 2 && !expects);
  if (needs_operand && operands.size() < address + 2) throw Unsupported{statement.opcode};
  const std::uint32_t operand =
      operands.size() > address + 1
          ? decoder.source(operands[address + 1], waits && !parity ? Slot::quad : Slot::word)
          : decoder.constant(1, Slot::word);
  const std::uint32_t to =
      waits ? decoder.destination(operands[0], Slot::predicate)
            : (verb == 2 ? decoder.destination(operands[0], Slot::quad) : decoder.temporary(Slot::quad));
  if (verb == 0) return emit_barrier<Action::init>(decoder, place, to, operand);
  if (verb == 1) return emit_barrier<Action::invalidate>(decoder, place, to, operand);
  if (verb == 2 && expects) return emit_barrier<Action::expect_and_arrive>(decoder, place, to, operand);
  if (verb == 2) return emit_barrier<Action::arrive>(decoder, place, to, operand);
  if (waits && parity) return emit_barrier<Action::wait_parity>(decoder, place, to, operand);
  if (waits) return emit_barrier<Action::wait>(decoder, place, to, operand);
  if (expects) return emit_barrier<Action::expect>(decoder, place, to, operand);
  emit_barrier<Action::complete>(decoder, place, to, operand);
}

void nothing(Warp&, const Instruction&) {}
void build_nothing(Decoder& decoder, const ptx::Statement&, const Entry&) { decoder.emit(nothing); }

// Without .noinc the arrival adds itself to the pending count first: nothing changes.
void build_arrive(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  for (const char* name : {"async", "mbarrier", "arrive", "b64"}) modifiers.take(name);
  const bool counts = modifiers.take("noinc");
  const Place place = take_place(decoder, modifiers, statement.operands.at(0));
  modifiers.finish();
  if (!counts) {
    decoder.emit(nothing);
    return;
  }
  emit_barrier<Action::arrive>(decoder, place, decoder.temporary(Slot::quad),
                               decoder.constant(1, Slot::word));
}

// cp.async [to], [from], bytes{, bytes to read}{, cache policy}
void build_cp(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  Modifiers modifiers(statement.opcode);
  if (!modifiers.take("async")) throw Unsupported{statement.opcode};
  if (statement.opcode.starts_with("cp.async.mbarrier.arrive"))
    return build_arrive(decoder, statement, entry);
  const bool policy = statement.opcode.find(".L2::cache_hint") != std::string::npos;
  take_ordering(modifiers);
  const auto& operands = statement.operands;
  if (operands.size() < 3 || operands[2].kind != ptx::Operand::Kind::integer)
    throw Unsupported{statement.opcode};
  const Place from = take_place(decoder, modifiers, operands[1]),
              to = take_place(decoder, modifiers, operands[0]);
  modifiers.finish();
  const std::uint64_t bytes = operands[2].bits;
  const bool partial = operands.size() - (policy ? 1 : 0) > 3;
  if (from.space != ptx::Space::global || to.space != ptx::Space::shared || from.address.slot != Slot::quad ||
      (bytes != 4 && bytes != 8 && bytes != 16) ||
      (partial && decoder.slot_of(operands[3]) == Slot::predicate))
    throw Unsupported{statement.opcode};
  const std::uint32_t wanted =
      partial ? decoder.source(operands[3], Slot::word) : decoder.constant(bytes, Slot::word);
  Instruction& in = decoder.emit(to.address.slot == Slot::quad ? copy<Slot::quad> : copy<Slot::word>);
  in.a = from.address.base;
  in.immediate = from.address.immediate;
  in.b = to.address.base;
  in.e = static_cast<std::uint32_t>(to.address.immediate);
  in.c = wanted;
  in.count = static_cast<std::uint16_t>(bytes);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

}  // namespace

void add_async(Table& table) {
  table.add_all({{"cp", nullptr, {}, build_cp}, {"mbarrier", nullptr, {}, build_mbarrier}});
  for (const char* name : {"cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all"})
    table.add({name, nullptr, {}, build_nothing});
}

}  // namespace pkb::virtual_gpu
