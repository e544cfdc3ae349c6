// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>

#include "harness/virtual_gpu/exec/block.h"
#include "harness/virtual_gpu/exec/lanes.h"

// mov, cvta, isspacep (PTX ISA 9.7.9).
namespace pkb::virtual_gpu {
namespace {

template <class T>
T copy(T a) {
  return a;
}
std::uint32_t pack_halves(std::uint16_t low, std::uint16_t high) { return std::uint32_t{high} << 16 | low; }
std::uint64_t pack_words(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }
std::uint64_t pack_four(std::uint16_t a, std::uint16_t b, std::uint16_t c, std::uint16_t d) {
  return pack_words(pack_halves(a, b), pack_halves(c, d));
}

/// A part of a wide register: bits `in.immediate` and up.
template <class T>
void part(Warp& warp, const Instruction& in) {
  const std::uint64_t* whole = warp.at<std::uint64_t>(in.a);
  const std::uint64_t shift = in.immediate;
  write<T>(warp, in.d, [=](int lane) { return static_cast<T>(whole[lane] >> shift); });
}

/// Both at once, since either destination may share the slot of the source.
void unpack_halves(Warp& warp, const Instruction& in) {
  std::array<std::uint32_t, kLanes> whole;
  for (int lane = 0; lane < kLanes; ++lane) whole[lane] = warp.at<std::uint32_t>(in.a)[lane];
  write<std::uint16_t>(warp, in.d, [&](int lane) { return static_cast<std::uint16_t>(whole[lane]); });
  write<std::uint16_t>(warp, in.e, [&](int lane) { return static_cast<std::uint16_t>(whole[lane] >> 16); });
}

template <auto f>
constexpr Handler kHandler = LaneWise<f, false>::execute;

Slot slot_of_type(ptx::Type type, const ptx::Statement& statement) {
  if (type == ptx::Type::pred) return Slot::predicate;
  const std::size_t size = ptx::size_of(type);
  if (size == 16) throw Unsupported{statement.opcode};
  return size == 8 ? Slot::quad : Slot::word;
}

void build_pack(Decoder& decoder, const ptx::Statement& statement, Slot slot) {
  const auto& elements = statement.operands[1].elements;
  const bool words = slot == Slot::quad && elements.size() == 2;
  Handler pack = nullptr;
  if (words) pack = kHandler<pack_words>;
  if (slot == Slot::word && elements.size() == 2) pack = kHandler<pack_halves>;
  if (slot == Slot::quad && elements.size() == 4) pack = kHandler<pack_four>;
  if (pack == nullptr) throw Unsupported{statement.opcode + " with such a vector"};
  std::array<std::uint32_t, 4> sources{};
  for (std::size_t i = 0; i < elements.size(); ++i) sources[i] = decoder.source(elements[i], Slot::word);
  const std::uint32_t to = decoder.destination(statement.operands[0], slot);
  Instruction& in = decoder.emit(pack);
  in.d = to;
  in.a = sources[0], in.b = sources[1], in.c = sources[2], in.e = sources[3];
}

void build_unpack(Decoder& decoder, const ptx::Statement& statement, Slot slot) {
  const auto& elements = statement.operands[0].elements;
  const std::uint32_t from = decoder.source(statement.operands[1], slot);
  if (slot == Slot::word && elements.size() == 2) {
    const std::uint32_t low = decoder.destination(elements[0], Slot::word);
    const std::uint32_t high = decoder.destination(elements[1], Slot::word);
    Instruction& in = decoder.emit(unpack_halves);
    in.a = from;
    in.d = low;
    in.e = high;
    return;
  }
  if (slot != Slot::quad || (elements.size() != 2 && elements.size() != 4))
    throw Unsupported{statement.opcode + " with such a vector"};
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].kind == ptx::Operand::Kind::sink) continue;
    const std::uint32_t to = decoder.destination(elements[i], Slot::word);
    Instruction& in = decoder.emit(elements.size() == 2 ? part<std::uint32_t> : part<std::uint16_t>);
    in.a = from;
    in.d = to;
    in.immediate = 64 / elements.size() * i;
  }
}

void build_move(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const Slot slot = slot_of_type(modifiers.take_type(), statement);
  modifiers.finish();
  if (statement.operands.size() != 2) throw Unsupported{statement.opcode};
  if (statement.operands[0].kind == ptx::Operand::Kind::vector) return build_unpack(decoder, statement, slot);
  if (statement.operands[1].kind == ptx::Operand::Kind::vector) return build_pack(decoder, statement, slot);
  const std::uint32_t from = decoder.source(statement.operands[1], slot);
  const std::uint32_t to = decoder.destination(statement.operands[0], slot);
  Instruction& in = decoder.emit(slot == Slot::quad        ? kHandler<copy<std::uint64_t>>
                                 : slot == Slot::predicate ? kHandler<copy<bool>>
                                                           : kHandler<copy<std::uint32_t>>);
  in.d = to;
  in.a = from;
}

template <class T, std::uint64_t window>
T to_generic(T address) {
  return static_cast<T>(address + window);
}
template <class T, std::uint64_t window>
T from_generic(T address) {
  return static_cast<T>(address - window);
}

template <class T, std::uint64_t window>
Handler convert_address(bool to_space) {
  return to_space ? kHandler<from_generic<T, window>> : kHandler<to_generic<T, window>>;
}

template <class T>
Handler convert_address(ptx::Space space, bool to_space) {
  switch (space) {
    case ptx::Space::shared:
      return convert_address<T, kSharedWindow>(to_space);
    case ptx::Space::local:
      return convert_address<T, kLocalWindow>(to_space);
    case ptx::Space::param:
      return convert_address<T, kParameterWindow>(to_space);
    case ptx::Space::generic:
    case ptx::Space::global:
    case ptx::Space::constant:
      break;
  }
  return kHandler<copy<T>>;
}

constexpr std::array<std::string_view, 9> kSpaces = {"global",      "const",           "shared",
                                                     "shared::cta", "shared::cluster", "local",
                                                     "param",       "param::entry",    "param::func"};
constexpr std::array<ptx::Space, 9> kSpaceOf = {ptx::Space::global, ptx::Space::constant, ptx::Space::shared,
                                                ptx::Space::shared, ptx::Space::shared,   ptx::Space::local,
                                                ptx::Space::param,  ptx::Space::param,    ptx::Space::local};

void build_convert_address(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const bool to_space = modifiers.take("to");
  const int space = modifiers.take_any(kSpaces);
  const Slot slot = slot_of_type(modifiers.take_type(), statement);
  modifiers.finish();
  if (space < 0 || statement.operands.size() != 2) throw Unsupported{statement.opcode};
  ptx::Space where = kSpaceOf[static_cast<std::size_t>(space)];
  // A function's parameters stand in local memory here.
  if (where == ptx::Space::param && !decoder.in_kernel()) where = ptx::Space::local;
  const std::uint32_t from = decoder.source(statement.operands[1], slot);
  const std::uint32_t to = decoder.destination(statement.operands[0], slot);
  Instruction& in = decoder.emit(slot == Slot::quad ? convert_address<std::uint64_t>(where, to_space)
                                                    : convert_address<std::uint32_t>(where, to_space));
  in.d = to;
  in.a = from;
}

bool in_global(std::uint64_t address) { return address < kSharedWindow; }
template <std::uint64_t window>
bool in_window(std::uint64_t address) {
  return address - window < kSharedWindow;
}
bool in_own_shared(std::uint64_t address) { return address - kSharedWindow < 1u << kRankShift; }
bool nowhere(std::uint64_t) { return false; }

}  // namespace

void add_move(Table& table) {
  table.add_all({{"mov", nullptr, {}, build_move}, {"cvta", nullptr, {}, build_convert_address}});
  table.add(lanes<in_global>("isspacep.global"), lanes<in_window<kLocalWindow>>("isspacep.local"),
            lanes<in_window<kParameterWindow>>("isspacep.param"), lanes<nowhere>("isspacep.const"));
  table.add(lanes<in_own_shared>("isspacep.shared"), lanes<in_own_shared>("isspacep.shared::cta"),
            lanes<in_window<kSharedWindow>>("isspacep.shared::cluster"));
}

}  // namespace pkb::virtual_gpu
