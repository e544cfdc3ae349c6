// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "harness/virtual_gpu/exec/lanes.h"

// shfl, vote, match, redux, activemask, elect (PTX ISA 9.7.9.5, 9.7.13): all wait for the threads of their
// member mask first.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;

Word members(Warp& warp, std::uint32_t offset) { return warp.at<Word>(offset)[warp.first_lane()]; }

template <class F>
void for_lanes(std::uint32_t lanes, F f) {
  for (; lanes != 0; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

enum class Shuffle { up, down, bfly, idx };

// d|e, a: value, b: lane or distance, c: clamp and segment mask, immediate: offset of the member mask.
// As in the ISA's pseudo-code; a lane that is not there leaves its reader with its own value.
template <Shuffle mode>
void shuffle(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, members(warp, static_cast<std::uint32_t>(in.immediate)))) return;
  std::array<Word, kLanes> values;
  std::copy_n(warp.at<Word>(in.a), kLanes, values.begin());
  const Word* b = warp.at<Word>(in.b);
  const Word* c = warp.at<Word>(in.c);
  std::array<Word, kLanes> from;
  Word found = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const int distance = static_cast<int>(b[lane] & 0x1f);
    const int clamp = static_cast<int>(c[lane] & 0x1f), segment = static_cast<int>(c[lane] >> 8 & 0x1f);
    const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
    int source = 0;
    bool inside = false;
    switch (mode) {
      case Shuffle::up:
        source = lane - distance;
        inside = source >= last;
        break;
      case Shuffle::down:
        source = lane + distance;
        inside = source <= last;
        break;
      case Shuffle::bfly:
        source = lane ^ distance;
        inside = source <= last;
        break;
      case Shuffle::idx:
        source = first | (distance & ~segment);
        inside = source <= last;
        break;
    }
    from[lane] = values[inside ? source : lane];
    found |= static_cast<Word>(inside) << lane;
  }
  write<Word>(warp, in.d, [&](int lane) { return from[lane]; });
  Word& p = warp.predicate(in.e);
  p = (p & ~warp.mask()) | (found & warp.mask());
}

void build_shuffle(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  const auto& operands = statement.operands;
  if (operands.size() != 5) throw Unsupported{statement.opcode};
  const bool two = operands[0].kind == ptx::Operand::Kind::pair;
  const std::uint32_t value = decoder.source(operands[1], Slot::word);
  const std::uint32_t b = decoder.source(operands[2], Slot::word);
  const std::uint32_t c = decoder.source(operands[3], Slot::word);
  const std::uint32_t mask = decoder.source(operands[4], Slot::word);
  const std::uint32_t found = two ? decoder.destination(operands[0].elements.at(1), Slot::predicate)
                                  : decoder.temporary(Slot::predicate);
  const std::uint32_t to = decoder.destination(two ? operands[0].elements.at(0) : operands[0], Slot::word);
  Instruction& in = decoder.emit_control(entry.handler);
  in.d = to;
  in.a = value;
  in.b = b;
  in.c = c;
  in.e = found;
  in.immediate = mask;
}

enum class Vote { all, any, uni, ballot };

// d, a: predicate, b: member mask
template <Vote mode>
void vote(Warp& warp, const Instruction& in) {
  const Word named = members(warp, in.b);
  if (!warp.gathered(in, named)) return;
  const Word lanes = warp.mask() & named, holds = warp.predicate(in.a) & lanes;
  if constexpr (mode == Vote::ballot) {
    write<Word>(warp, in.d, [&](int) { return holds; });
  } else {
    const bool result = mode == Vote::all   ? holds == lanes
                        : mode == Vote::any ? holds != 0
                                            : holds == 0 || holds == lanes;
    write<bool>(warp, in.d, [&](int) { return result; });
  }
}

// d|e, a, b: member mask
template <class T, bool all>
void match(Warp& warp, const Instruction& in) {
  const Word named = members(warp, in.b);
  if (!warp.gathered(in, named)) return;
  const Word lanes = warp.mask() & named;
  std::array<T, kLanes> values;
  std::copy_n(warp.at<T>(in.a), kLanes, values.begin());
  std::array<Word, kLanes> equal{};
  for_lanes(lanes,
            [&](int i) { for_lanes(lanes, [&](int j) { equal[i] |= Word{values[i] == values[j]} << j; }); });
  if constexpr (all) {
    const bool same = lanes == 0 || equal[std::countr_zero(lanes)] == lanes;
    write<Word>(warp, in.d, [&](int) { return same ? lanes : 0; });
    write<bool>(warp, in.e, [&](int) { return same; });
  } else {
    write<Word>(warp, in.d, [&](int lane) { return equal[lane]; });
  }
}

// d, a, b: member mask
template <class T, T (*f)(T, T)>
void redux(Warp& warp, const Instruction& in) {
  const Word named = members(warp, in.b);
  if (!warp.gathered(in, named)) return;
  const T* values = warp.at<T>(in.a);
  bool first = true;
  T result{};
  for_lanes(warp.mask() & named, [&](int lane) {
    result = first ? values[lane] : f(result, values[lane]);
    first = false;
  });
  write<T>(warp, in.d, [&](int) { return result; });
}

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Word>(a) + static_cast<Word>(b));
}
template <class T>
T min(T a, T b) {
  return std::min(a, b);
}
template <class T>
T max(T a, T b) {
  return std::max(a, b);
}
Word and_(Word a, Word b) { return a & b; }
Word or_(Word a, Word b) { return a | b; }
Word xor_(Word a, Word b) { return a ^ b; }

void activemask(Warp& warp, const Instruction& in) {
  const Word lanes = warp.mask();
  write<Word>(warp, in.d, [&](int) { return lanes; });
}

// d|e, a: member mask. The least live lane is elected.
void elect(Warp& warp, const Instruction& in) {
  const Word named = members(warp, in.a);
  if (!warp.gathered(in, named)) return;
  const Word leader = static_cast<Word>(std::countr_zero(warp.mask() & named));
  write<Word>(warp, in.d, [&](int) { return leader; });
  write<bool>(warp, in.e, [&](int lane) { return static_cast<Word>(lane) == leader; });
}

/// d{|p}, sources as wide as `slots` says, member mask last.
void build_collective(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  const auto& operands = statement.operands;
  std::size_t wanted = 1;
  while (wanted < entry.slots.size() && entry.slots[wanted] != Slot::none) ++wanted;
  if (operands.size() != wanted) throw Unsupported{statement.opcode};
  std::array<std::uint32_t, 4> sources{};
  for (std::size_t i = 1; i < wanted; ++i) sources[i - 1] = decoder.source(operands[i], entry.slots[i]);
  const bool two = operands[0].kind == ptx::Operand::Kind::pair;
  const std::uint32_t second = two ? decoder.destination(operands[0].elements.at(1), Slot::predicate)
                                   : decoder.temporary(Slot::predicate);
  const std::uint32_t to =
      decoder.destination(two ? operands[0].elements.at(0) : operands[0], entry.slots[0]);
  Instruction& in = decoder.emit_control(entry.handler);
  in.d = to;
  in.e = second;
  in.a = sources[0];
  in.b = sources[1];
}

}  // namespace

void add_shuffle(Table& table) {
  table.add_all({{"shfl.sync.up.b32", shuffle<Shuffle::up>, {}, build_shuffle},
                 {"shfl.sync.down.b32", shuffle<Shuffle::down>, {}, build_shuffle},
                 {"shfl.sync.bfly.b32", shuffle<Shuffle::bfly>, {}, build_shuffle},
                 {"shfl.sync.idx.b32", shuffle<Shuffle::idx>, {}, build_shuffle}});
  const auto collective = [&](const std::string& name, Handler handler, Slot to, Slot from) {
    table.add({name, handler, {to, from, Slot::word}, build_collective});
  };
  for (const std::string form : {"vote.sync.", "vote."}) {
    const std::string sync = form == "vote." ? ".sync" : "";
    collective(form + "all" + sync + ".pred", vote<Vote::all>, Slot::predicate, Slot::predicate);
    collective(form + "any" + sync + ".pred", vote<Vote::any>, Slot::predicate, Slot::predicate);
    collective(form + "uni" + sync + ".pred", vote<Vote::uni>, Slot::predicate, Slot::predicate);
    collective(form + "ballot" + sync + ".b32", vote<Vote::ballot>, Slot::word, Slot::predicate);
  }
  for (const std::string form : {"match.any.sync", "match.sync.any"}) {
    collective(form + ".b32", match<Word, false>, Slot::word, Slot::word);
    collective(form + ".b64", match<std::uint64_t, false>, Slot::word, Slot::quad);
  }
  for (const std::string form : {"match.all.sync", "match.sync.all"}) {
    collective(form + ".b32", match<Word, true>, Slot::word, Slot::word);
    collective(form + ".b64", match<std::uint64_t, true>, Slot::word, Slot::quad);
  }
  using Int = std::int32_t;
  collective("redux.sync.add.u32", redux<Word, add<Word>>, Slot::word, Slot::word);
  collective("redux.sync.add.s32", redux<Int, add<Int>>, Slot::word, Slot::word);
  collective("redux.sync.min.u32", redux<Word, min<Word>>, Slot::word, Slot::word);
  collective("redux.sync.min.s32", redux<Int, min<Int>>, Slot::word, Slot::word);
  collective("redux.sync.max.u32", redux<Word, max<Word>>, Slot::word, Slot::word);
  collective("redux.sync.max.s32", redux<Int, max<Int>>, Slot::word, Slot::word);
  collective("redux.sync.and.b32", redux<Word, and_>, Slot::word, Slot::word);
  collective("redux.sync.or.b32", redux<Word, or_>, Slot::word, Slot::word);
  collective("redux.sync.xor.b32", redux<Word, xor_>, Slot::word, Slot::word);
  table.add_all({{"activemask.b32", activemask, {Slot::word}, build_collective},
                 {"elect.sync", elect, {Slot::word, Slot::word}, build_collective}});
}

}  // namespace pkb::virtual_gpu
