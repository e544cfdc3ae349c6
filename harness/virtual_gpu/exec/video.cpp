// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/virtual_gpu/exec/lanes.h"

// SIMD video instructions (PTX ISA 9.7.18) on the two halves or four bytes of words, without selectors and
// masks: what CUDA's SIMD intrinsics are made of.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;

std::int32_t add(std::int32_t a, std::int32_t b) { return a + b; }
std::int32_t subtract(std::int32_t a, std::int32_t b) { return a - b; }
std::int32_t difference(std::int32_t a, std::int32_t b) { return std::abs(a - b); }
std::int32_t average(std::int32_t a, std::int32_t b) { return (a + b + (a + b >= 0 ? 1 : 0)) >> 1; }
std::int32_t least(std::int32_t a, std::int32_t b) { return std::min(a, b); }
std::int32_t most(std::int32_t a, std::int32_t b) { return std::max(a, b); }

// Instruction::flags
constexpr std::uint8_t kSignedResult = 1, kSignedA = 2, kSignedB = 4, kSaturates = 8, kAccumulates = 16;

std::int32_t element(Word word, int shift, int bits, bool is_signed) {
  const Word raw = word >> shift & ((1u << bits) - 1);
  return is_signed ? static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits)
                   : static_cast<std::int32_t>(raw);
}

template <std::int32_t (*f)(std::int32_t, std::int32_t), int bits>
void video(Warp& warp, const Instruction& in) {
  const Reader<Word> a(warp, in.a), b(warp, in.b), c(warp, in.c);
  const bool is_signed = (in.flags & kSignedResult) != 0;
  const std::int32_t floor = is_signed ? -(1 << (bits - 1)) : 0,
                     ceiling = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  write<Word>(warp, in.d, [&](int lane) {
    Word sum = c[lane], packed = 0;
    for (int shift = 0; shift < 32; shift += bits) {
      std::int32_t value = f(element(a[lane], shift, bits, (in.flags & kSignedA) != 0),
                             element(b[lane], shift, bits, (in.flags & kSignedB) != 0));
      if ((in.flags & kSaturates) != 0) value = std::clamp(value, floor, ceiling);
      sum += static_cast<Word>(value);
      packed |= (static_cast<Word>(value) & ((1u << bits) - 1)) << shift;
    }
    return (in.flags & kAccumulates) != 0 ? sum : packed;
  });
}

// op.dtype.atype.btype{.sat}{.add} d, a, b, c
void build_video(Decoder& decoder, const ptx::Statement& statement, const Entry& entry) {
  std::string_view rest = std::string_view(statement.opcode).substr(entry.name.size());
  const auto take = [&rest](std::string_view name) {
    const bool found = rest.starts_with(name);
    if (found) rest.remove_prefix(name.size());
    return found;
  };
  std::uint8_t flags = 0;
  for (const std::uint8_t flag : {kSignedResult, kSignedA, kSignedB}) {
    if (take(".s32"))
      flags |= flag;
    else if (!take(".u32"))
      throw Unsupported{statement.opcode};
  }
  if (take(".sat")) flags |= kSaturates;
  if (take(".add")) flags |= kAccumulates;
  if (!rest.empty()) throw Unsupported{statement.opcode};
  const auto& operands = statement.operands;
  if (operands.size() != 4) throw Unsupported{statement.opcode};
  for (const ptx::Operand& operand : operands)
    if (operand.kind == ptx::Operand::Kind::reg && !operand.name.empty())
      throw Unsupported{statement.opcode + " with a selector"};
  std::array<std::uint32_t, 3> sources;
  for (std::size_t i = 0; i < 3; ++i) sources[i] = decoder.source(operands[i + 1], Slot::word);
  const std::uint32_t to = decoder.destination(operands[0], Slot::word);
  Instruction& in = decoder.emit(entry.handler);
  in.d = to;
  in.a = sources[0], in.b = sources[1], in.c = sources[2];
  in.flags = flags;
}

template <std::int32_t (*f)(std::int32_t, std::int32_t)>
void add_both(Table& table, const std::string& name) {
  table.add({name + "2", video<f, 16>, {}, build_video}, {name + "4", video<f, 8>, {}, build_video});
}

}  // namespace

void add_video(Table& table) {
  add_both<add>(table, "vadd");
  add_both<subtract>(table, "vsub");
  add_both<difference>(table, "vabsdiff");
  add_both<average>(table, "vavrg");
  add_both<least>(table, "vmin");
  add_both<most>(table, "vmax");
}

}  // namespace pkb::virtual_gpu
