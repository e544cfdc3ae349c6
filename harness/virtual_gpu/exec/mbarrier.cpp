// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/mbarrier.h"

#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;

std::string arrivals(Word count) { return fmt::format("{} arrival{}", count, count == 1 ? "" : "s"); }

}  // namespace

void Mbarrier::set(bool phase, Word pending, Word expected, std::int64_t transactions) {
  x_bits = Quad{phase} << 63 | kLive << kMark | (static_cast<Quad>(transactions) & 0x1fffff) << 40 |
           Quad{pending} << 20 | expected;
}

// A drop may leave a phase that expects nobody; that phase is not complete but of no use any more.
void Mbarrier::advance() {
  if (pending() == 0 && transactions() == 0) set(!phase(), expected(), expected(), 0);
}

Mbarrier::Misuse Mbarrier::unusable() const {
  const Quad mark = x_bits >> kMark & 3;
  if (mark == kLive) return std::nullopt;
  return mark == kInvalidated && expected() == 0 ? "is used after mbarrier.inval"
                                                 : "is used before mbarrier.init, or was overwritten";
}

Mbarrier::Misuse Mbarrier::initialise(Word count) {
  if (count == 0 || count > kMost)
    return fmt::format("is initialised with count {}; it has to be 1 to {}", count, kMost);
  set(false, count, count, 0);
  return std::nullopt;
}

Mbarrier::Misuse Mbarrier::arrive(const Arrival& arrival) {
  const auto [count, drops, may_complete] = arrival;
  if (count == 0) return "gets an arrival with count 0";
  if (count > pending()) return fmt::format("waits for {} but gets {}", arrivals(pending()), count);
  if (drops && count > expected())
    return fmt::format("expects {} a phase, of which {} are dropped", arrivals(expected()), count);
  if (!may_complete && count == pending() && transactions() == 0)
    return "completes its phase by an arrival with .noComplete";
  set(phase(), pending() - count, expected() - (drops ? count : 0), transactions());
  advance();
  return std::nullopt;
}

Mbarrier::Misuse Mbarrier::await(Word count) {
  if (pending() + count > kMost) return fmt::format("waits for more than {}", arrivals(kMost));
  set(phase(), pending() + count, expected(), transactions());
  return std::nullopt;
}

Mbarrier::Misuse Mbarrier::add(std::int64_t bytes) {
  const std::int64_t sum = transactions() + bytes;
  if (sum > std::int64_t{kMost} || sum < -std::int64_t{kMost})
    return fmt::format("has {} transaction bytes pending and gets {}: beyond {}", transactions(), bytes, kMost);
  set(phase(), pending(), expected(), sum);
  return std::nullopt;
}

Mbarrier::Misuse Mbarrier::expect(Word bytes) { return add(bytes); }

Mbarrier::Misuse Mbarrier::complete(Word bytes) {
  Misuse misuse = add(-std::int64_t{bytes});
  if (!misuse) advance();
  return misuse;
}

namespace {

/// Applies `change`, a function of Mbarrier& that returns Mbarrier::Misuse, to the object at an address. Gives its
/// bits before the change, or nothing after a fault. What waits only reads.
/// `tell(its block's checks, its offset there, this block's checks)` is called where there are checks.
template <class Change, class Tell>
std::optional<Quad> apply(Warp& warp, const Instruction& in, int lane, ptx::Space space, Quad address,
                          Access access, Change change, Tell tell) {
  if (space == ptx::Space::generic) {
    if (address - kSharedWindow >= kSharedWindow) {
      warp.fault(in, lane, Fault::Kind::invalid_instruction, address,
                 fmt::format("mbarrier at {:#x}, which is not shared memory", address));
      return std::nullopt;
    }
    address -= kSharedWindow;
  }
  std::byte* at = lane_address(warp, in, lane, ptx::Space::shared, address, sizeof(Quad), access);
  if (at == nullptr) return std::nullopt;
  Quad before;
  std::memcpy(&before, at, sizeof before);
  Mbarrier object(before);
  if (const Mbarrier::Misuse misuse = change(object)) {
    warp.fault(in, lane, Fault::Kind::invalid_instruction, address,
               fmt::format("mbarrier at shared address {:#x} {}", address, *misuse));
    return std::nullopt;
  }
  const Quad after = object.bits();
  if (access == Access::write) std::memcpy(at, &after, sizeof after);
  if (check::BlockCheck* const check = warp.block().check()) {
    const auto [owner, offset] = warp.block().locate(address);
    tell(*owner->check(), offset, *check);
    if (access == Access::write && Mbarrier(before).phase() != object.phase()) owner->check()->mbarrier_completed(offset);
  }
  return before;
}

void tell_nothing(check::BlockCheck&, Quad, check::BlockCheck&) {}

/// To the checks mbarrier.init writes the object and what else threads do with it reads it: who uses it has to know
/// of the initialisation, and who initialises it again that nobody uses it any more. Copies that complete at it
/// belong to the thread that waits for them.
void check_use(Warp& warp, const Instruction& in, int lane, check::BlockCheck& owner, Quad offset, check::Access::Kind kind) {
  Quad offsets[kLanes];
  offsets[lane] = offset;
  const bool reads = kind != check::Access::Kind::write;
  warp.block().check()->shared({.kind = kind,
                                .order = reads ? check::Order::relaxed : check::Order::weak,
                                .scope = check::Scope::cluster,
                                .warp = warp.index(),
                                .place = in.place,
                                .bytes = sizeof(Quad)},
                               owner, 1u << lane, offsets);
}

template <class Change>
Mbarrier::Misuse if_usable(Mbarrier& object, Change change) {
  Mbarrier::Misuse misuse = object.unusable();
  return misuse ? misuse : change();
}

enum class Action { init, invalidate, arrive, arrive_without_completing, expect_and_arrive, expect, complete };

constexpr std::uint8_t kDrops = 0x80;  // beside the space in Instruction::flags

ptx::Space space_of(const Instruction& in) { return static_cast<ptx::Space>(in.flags & ~kDrops); }

template <Action action>
Mbarrier::Misuse act(Mbarrier& object, Word operand, bool drops) {
  if constexpr (action == Action::init) return object.initialise(operand);
  return if_usable(object, [&]() -> Mbarrier::Misuse {
    if constexpr (action == Action::invalidate) {
      object = Mbarrier::invalidated();
      return std::nullopt;
    }
    if constexpr (action == Action::expect) return object.expect(operand);
    if constexpr (action == Action::complete) return object.complete(operand);
    if constexpr (action == Action::expect_and_arrive) {
      const Mbarrier::Misuse misuse = object.expect(operand);
      return misuse ? misuse : object.arrive({.drops = drops});
    }
    return object.arrive({.count = operand,
                          .drops = drops,
                          .may_complete = action != Action::arrive_without_completing});
  });
}

// a: address; b: count or bytes; d: state before; flags: space, and whether the arrivals are dropped. Threads take
// turns; those of one cluster never run at the same time.
template <Action action>
void change(Warp& warp, const Instruction& in) {
  constexpr bool arrives = action == Action::arrive || action == Action::arrive_without_completing ||
                           action == Action::expect_and_arrive;
  warp.progress();
  warp.block().release_stores(warp.index(), warp.mask(), check::Scope::cluster);
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Word operand = warp.at<Word>(in.b)[lane];
    const auto before =
        apply(warp, in, lane, space_of(in), warp.at<Quad>(in.a)[lane], Access::write,
              [&](Mbarrier& object) { return act<action>(object, operand, (in.flags & kDrops) != 0); },
              [&](check::BlockCheck& owner, Quad offset, check::BlockCheck& mine) {
                check_use(warp, in, lane, owner, offset,
                          action == Action::init ? check::Access::Kind::write : check::Access::Kind::peek);
                if (action == Action::init)
                  owner.mbarrier_init(offset);
                else if (arrives)
                  owner.mbarrier_arrive(offset, mine, warp.index(), lane);
              });
    if (!before) return;
    warp.at<Quad>(in.d)[lane] = *before;
  }
}

// a: address; b: state or parity; d: whether that phase has completed; flags: space.
template <bool parity>
void test(Warp& warp, const Instruction& in) {
  Word completed = 0;
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Word operand = parity ? warp.at<Word>(in.b)[lane] : 0;
    const bool phase = parity ? operand != 0 : Mbarrier(warp.at<Quad>(in.b)[lane]).phase();
    bool passes = false;
    const auto bits = apply(
        warp, in, lane, space_of(in), warp.at<Quad>(in.a)[lane], Access::read,
        [&](Mbarrier& object) {
          return if_usable(object, [&]() -> Mbarrier::Misuse {
            passes = phase != object.phase();
            if (operand <= 1) return std::nullopt;
            return fmt::format("is tested for parity {}; it has to be 0 or 1", operand);
          });
        },
        [&](check::BlockCheck& owner, Quad offset, check::BlockCheck& mine) {
          if (!passes) return;  // it comes again, and many times
          check_use(warp, in, lane, owner, offset, check::Access::Kind::peek);
          owner.mbarrier_passed(offset, mine, warp.index(), lane);
        });
    if (!bits) return;
    completed |= Word{passes} << lane;
  }
  if (completed != warp.mask()) warp.idle();
  write<bool>(warp, in.d, [&](int lane) { return (completed >> lane & 1) != 0; });
}

Word pending_count(Quad state) { return Mbarrier(state).pending(); }

// cp.async.mbarrier.arrive: a: address, flags: space. The mbarrier awaits one arrival more unless its count
// includes these (.noinc); they come when the thread's copies so far are done.
template <bool counted>
void arrive_when_copied(Warp& warp, const Instruction& in) {
  warp.progress();
  CopyQueue& copies = warp.copies();
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    Quad address = warp.at<Quad>(in.a)[lane];
    const auto before = apply(warp, in, lane, space_of(in), address, Access::write, [](Mbarrier& object) {
      return if_usable(object, [&] { return counted ? Mbarrier::Misuse{} : object.await(1); });
    }, [&](check::BlockCheck& owner, Quad offset, check::BlockCheck&) {
      check_use(warp, in, lane, owner, offset, check::Access::Kind::peek);
    });
    if (!before) return;
    if (space_of(in) == ptx::Space::generic) address -= kSharedWindow;
    if (!copies.pending(AsyncCopy::Completion::group, 1u << lane)) {
      if (check::BlockCheck* const check = warp.block().check()) {
        const auto [owner, offset] = warp.block().locate(address);
        owner->check()->mbarrier_copied(offset, *check, check::kAsyncGroup, warp.index(), check->moment());
      }
      if (!arrive_after_copies(warp, in, lane, address, 1)) return;
      continue;
    }
    auto arrival = copies.fresh();
    arrival->in = &in;
    arrival->lanes = 1u << lane;
    arrival->completion = AsyncCopy::Completion::mbarrier;
    arrival->mbarrier = address;
    arrival->arrivals = 1;
    copies.issue(std::move(arrival));
  }
}

struct Verb {
  std::string_view name;
  Handler plain, expecting;
};

void emit(Decoder& decoder, Handler handler, const Place& place, std::uint32_t address, std::uint32_t to,
          std::uint32_t operand, bool drops = false) {
  Instruction& in = decoder.emit(handler);
  in.d = to;
  in.a = address;
  in.b = operand;
  in.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(place.space) | (drops ? kDrops : 0));
}

// mbarrier.test_wait{.parity} done, [address], state or parity{, suspend time hint}
void build_test(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers) {
  const auto& operands = statement.operands;
  const bool parity = modifiers.take("parity");
  if (operands.size() < 3) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, operands[1]);
  modifiers.finish();
  const std::uint32_t address = effective_address(decoder, place.address);
  const std::uint32_t operand = decoder.source(operands[2], parity ? Slot::word : Slot::quad);
  const std::uint32_t to = decoder.destination(operands[0], Slot::predicate);
  emit(decoder, parity ? test<true> : test<false>, place, address, to, operand);
}

// mbarrier.arrive{_drop}{.expect_tx}{.noComplete} state, [address]{, count or bytes}
void build_arrive(Decoder& decoder, const ptx::Statement& statement, Modifiers& modifiers, bool drops) {
  const auto& operands = statement.operands;
  const bool expects = modifiers.take("expect_tx"), completes = !modifiers.take("noComplete");
  if (operands.size() < (expects ? 3 : 2)) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, operands[1]);
  modifiers.finish();
  const std::uint32_t address = effective_address(decoder, place.address);
  const std::uint32_t operand =
      operands.size() > 2 ? decoder.source(operands[2], Slot::word) : decoder.constant(1, Slot::word);
  const std::uint32_t to = decoder.destination(operands[0], Slot::quad);
  const Handler handler = expects     ? change<Action::expect_and_arrive>
                          : completes ? change<Action::arrive>
                                      : change<Action::arrive_without_completing>;
  emit(decoder, handler, place, address, to, operand, drops);
}

void build_mbarrier(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  take_ordering(modifiers);
  if (!modifiers.take("b64")) throw Unsupported{statement.opcode};
  if (modifiers.take("test_wait") || modifiers.take("try_wait"))
    return build_test(decoder, statement, modifiers);
  if (modifiers.take("arrive")) return build_arrive(decoder, statement, modifiers, false);
  if (modifiers.take("arrive_drop")) return build_arrive(decoder, statement, modifiers, true);
  static constexpr std::array<std::string_view, 4> kVerbs = {"init", "inval", "expect_tx", "complete_tx"};
  static constexpr std::array<Handler, 4> kHandlers = {change<Action::init>, change<Action::invalidate>,
                                                       change<Action::expect>, change<Action::complete>};
  const int verb = modifiers.take_any(kVerbs);
  const auto& operands = statement.operands;
  const bool has_operand = verb != 1;
  if (verb < 0 || operands.size() < (has_operand ? 2 : 1)) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, operands[0]);
  modifiers.finish();
  const std::uint32_t address = effective_address(decoder, place.address);
  const std::uint32_t operand =
      has_operand ? decoder.source(operands[1], Slot::word) : decoder.constant(0, Slot::word);
  emit(decoder, kHandlers[static_cast<std::size_t>(verb)], place, address, decoder.temporary(Slot::quad), operand);
}

// cp.async.mbarrier.arrive{.noinc} [address]
void build_arrive_when_copied(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  Modifiers modifiers(statement.opcode);
  for (const char* name : {"async", "mbarrier", "arrive", "noinc", "b64"}) modifiers.take(name);
  if (statement.operands.size() != 1) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, statement.operands[0]);
  modifiers.finish();
  const std::uint32_t address = effective_address(decoder, place.address);
  emit(decoder, entry.handler, place, address, 0, 0);
}

}  // namespace

bool complete_transactions(Warp& warp, const Instruction& in, int lane, Quad address, Word bytes) {
  return apply(warp, in, lane, ptx::Space::shared, address, Access::write, [&](Mbarrier& object) {
           return if_usable(object, [&] { return object.complete(bytes); });
         }, tell_nothing).has_value();
}

bool arrive_after_copies(Warp& warp, const Instruction& in, int lane, Quad address, Word count) {
  return apply(warp, in, lane, ptx::Space::shared, address, Access::write, [&](Mbarrier& object) {
           // libcu++'s pipeline ends without waiting for arrivals that nobody needs any more.
           if (object.is_invalidated()) return Mbarrier::Misuse{};
           return if_usable(object, [&] { return object.arrive({.count = count}); });
         }, [&](check::BlockCheck& owner, Quad offset, check::BlockCheck& mine) {
           owner.mbarrier_arrive(offset, mine, warp.index(), lane);
         }).has_value();
}

void add_mbarrier(Table& table) {
  table.add(lanes<pending_count>("mbarrier.pending_count.b64"));
  table.add({"mbarrier", nullptr, {}, build_mbarrier});
  for (const char* space : {"", ".shared", ".shared::cta"}) {
    const std::string name = "cp.async.mbarrier.arrive";
    table.add({fmt::format("{}{}.b64", name, space), arrive_when_copied<false>, {}, build_arrive_when_copied});
    table.add({fmt::format("{}.noinc{}.b64", name, space), arrive_when_copied<true>, {}, build_arrive_when_copied});
  }
}

}  // namespace pkb::virtual_gpu
