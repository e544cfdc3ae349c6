// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/atomic.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"

// st.async and red.async (PTX ISA 9.7.9.12, 9.7.13.8): registers travel to another block's shared memory and count
// at an mbarrier there.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;

// a: addresses; b: mbarriers; lists: values; immediate: reduction; flags: bytes of an element. Neighbouring lanes with
// one mbarrier share a copy.
void store(Warp& warp, const Instruction& in) {
  const Word* sources = warp.block().kernel().lists.data() + in.list();
  const Word element = in.flags, bytes = element * in.count;
  std::unique_ptr<AsyncCopy> copy;
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const Quad to = warp.at<Quad>(in.a)[lane], mbarrier = warp.at<Quad>(in.b)[lane];
    if (!aligned(warp, in, lane, to, bytes) || !aligned(warp, in, lane, mbarrier, sizeof(Quad))) return;
    std::byte* target = lane_range(warp, in, lane, ptx::Space::shared, to, bytes, Access::write);
    if (target == nullptr) return;
    if (copy && copy->mbarrier != mbarrier) warp.copies().issue(std::move(copy));
    if (!copy) {
      copy = warp.copies().fresh();
      copy->in = &in;
      copy->completion = AsyncCopy::Completion::mbarrier;
      copy->combine = reinterpret_cast<Combine>(in.immediate);
      copy->mbarrier = mbarrier;
      copy->is_read = true;
    }
    copy->lanes |= 1u << lane;
    copy->transactions += bytes;
    copy->pieces.push_back({0, kSharedWindow + to, nullptr, target, bytes, lane});
    for (Word i = 0; i < in.count; ++i) {
      const std::byte* value = element == 8 ? reinterpret_cast<const std::byte*>(warp.at<Quad>(sources[i]) + lane)
                                            : reinterpret_cast<const std::byte*>(warp.at<Word>(sources[i]) + lane);
      copy->values.insert(copy->values.end(), value, value + element);
    }
  }
  if (copy) warp.copies().issue(std::move(copy));
}

constexpr std::array<std::string_view, 2> kVectors = {"v2", "v4"};
constexpr std::array<std::string_view, 8> kReductions = {"add", "min", "max", "inc", "dec", "and", "or", "xor"};

// {st, red}.async... [address], value, [mbarrier]
void build_store(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  modifiers.take("async");
  take_ordering(modifiers);
  if (!modifiers.take("mbarrier::complete_tx::bytes") || statement.operands.size() != 3)
    throw Unsupported{statement.opcode};
  const bool generic = !modifiers.take("shared::cluster");
  const ptx::Type type = modifiers.take_type();
  const bool vector = modifiers.take_any(kVectors) >= 0, reduces = statement.opcode.starts_with("red");
  Combine combine = nullptr;
  if (reduces) {
    const int operation = modifiers.take_any(kReductions);
    if (operation < 0) throw Unsupported{statement.opcode};
    combine = find_reduction(
        fmt::format("{}.{}", kReductions[static_cast<std::size_t>(operation)], ptx::name_of(type)), false);
    if (combine == nullptr) throw Unsupported{statement.opcode};
  }
  modifiers.finish();
  const std::size_t bytes = ptx::size_of(type);
  if (bytes != 4 && bytes != 8) throw Unsupported{statement.opcode};
  const ptx::Operand& from = statement.operands[1];
  std::vector<Word> sources;
  for (const ptx::Operand& element : vector ? from.elements : std::vector<ptx::Operand>{from})
    sources.push_back(decoder.source(element, bytes == 8 ? Slot::quad : Slot::word));
  const auto address = [&](const ptx::Operand& operand) {
    Decoder::Address at = decoder.address(operand);
    if (generic) at.immediate -= kSharedWindow;
    return effective_address(decoder, at);
  };
  const Word to = address(statement.operands[0]), mbarrier = address(statement.operands[2]),
             list = decoder.list(sources);
  Instruction& in = decoder.emit(store);
  in.a = to;
  in.b = mbarrier;
  in.e = list;
  in.count = static_cast<std::uint16_t>(sources.size());
  in.immediate = reinterpret_cast<Quad>(combine);
  in.flags = static_cast<std::uint8_t>(bytes);
}

}  // namespace

void add_async_store(Table& table) {
  table.add_all({{"st.async", nullptr, {}, build_store}, {"red.async", nullptr, {}, build_store}});
}

}  // namespace pkb::virtual_gpu
