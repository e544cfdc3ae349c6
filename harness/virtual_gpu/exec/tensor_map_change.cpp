// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"
#include "harness/virtual_gpu/exec/tensor_map.h"

// tensormap.replace and tensormap.cp_fenceproxy (PTX ISA 9.7.9.28, 9.7.13.17). A value that a tensor map
// cannot have is a fault of the copy that uses the map.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;
using MapBytes = std::array<std::byte, sizeof(TensorMap)>;

constexpr std::array<std::string_view, 10> kFields = {
    "global_address", "rank",     "box_dim",           "global_dim",   "global_stride",
    "element_stride", "elemtype", "interleave_layout", "swizzle_mode", "fill_mode"};

template <class To>
To narrowed(Quad value) {
  return static_cast<To>(std::min<Quad>(value, std::numeric_limits<To>::max()));
}

void set_field(TensorMap& map, std::string_view field, std::size_t index, Quad value) {
  const auto small = narrowed<std::uint8_t>(value);
  if (field == "global_address") map.address = value;
  if (field == "rank") map.rank = narrowed<std::uint8_t>(value + 1);
  if (field == "box_dim") map.box[index] = narrowed<std::uint16_t>(value);
  if (field == "global_dim") map.last[index] = static_cast<Word>(value) - 1;
  if (field == "global_stride") map.stride[index] = value;
  if (field == "element_stride") map.step[index] = narrowed<std::uint16_t>(value);
  if (field == "elemtype") map.type = static_cast<TensorMap::Type>(small);
  if (field == "interleave_layout") map.interleave = static_cast<TensorMap::Interleave>(small);
  if (field == "swizzle_mode") map.swizzle = static_cast<TensorMap::Swizzle>(small);
  if (field == "fill_mode") map.fill = static_cast<TensorMap::Fill>(small);
}

std::byte* map_at(Warp& warp, const Instruction& in, int lane, ptx::Space space, Quad address,
                  Access access) {
  if (!aligned(warp, in, lane, address, 64)) return nullptr;
  std::byte* const found = lane_range(warp, in, lane, space, address, sizeof(TensorMap), access);
  if (found != nullptr)
    check_lane(warp, in, space, lane, address, sizeof(TensorMap),
               access == Access::read ? check::Access::Kind::read : check::Access::Kind::write);
  return found;
}

// a: address; b: value, 8 bytes a lane; flags: space; immediate: field; count: index
void replace(Warp& warp, const Instruction& in) {
  warp.progress();
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at =
        map_at(warp, in, lane, static_cast<ptx::Space>(in.flags), warp.at<Quad>(in.a)[lane], Access::write);
    if (at == nullptr) return;
    MapBytes bytes;
    std::memcpy(bytes.data(), at, bytes.size());
    auto map = std::bit_cast<TensorMap>(bytes);
    set_field(map, kFields[in.immediate], in.count, warp.at<Quad>(in.b)[lane]);
    bytes = std::bit_cast<MapBytes>(map);
    std::memcpy(at, bytes.data(), bytes.size());
  }
}

// tensormap.replace.tile.field{.space}.b1024.type [map], {index,} value
void build_replace(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  for (const char* name : {"replace", "tile", "b1024"}) modifiers.take(name);
  const int field = modifiers.take_any(kFields);
  const Slot slot = ptx::size_of(modifiers.take_type()) == 8 ? Slot::quad : Slot::word;
  const auto& operands = statement.operands;
  if (field < 0 || operands.size() < 2) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, operands[0]);
  modifiers.finish();
  const bool indexed = operands.size() == 3;
  const std::string_view name = kFields[static_cast<std::size_t>(field)];
  const std::size_t most = name == "global_stride" ? 4 : 5;
  if (indexed && operands[1].bits >= most)
    throw Unsupported{statement.opcode + " of a dimension that no tensor has"};
  const Word address = effective_address(decoder, place.address),
             value = decoder.converted(decoder.source(operands.back(), slot), slot, Slot::quad);
  Instruction& in = decoder.emit(replace);
  in.a = address;
  in.b = value;
  in.flags = static_cast<std::uint8_t>(place.space);
  in.immediate = static_cast<Quad>(field);
  in.count = indexed ? static_cast<std::uint16_t>(operands[1].bits) : 0;
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

// a: to, in global memory; b: from, in shared memory. All threads of the warp ask for the same copy.
void copy_map(Warp& warp, const Instruction& in) {
  if (!warp.gathered(in, kAllLanes)) return;
  warp.progress();
  const int lane = warp.first_lane();
  const std::byte* from = map_at(warp, in, lane, ptx::Space::shared, warp.at<Quad>(in.b)[lane], Access::read);
  if (from == nullptr) return;
  std::byte* to = map_at(warp, in, lane, ptx::Space::global, warp.at<Quad>(in.a)[lane], Access::write);
  if (to != nullptr) std::memcpy(to, from, sizeof(TensorMap));
}

// tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.scope.sync.aligned [to], [from], 128
void build_copy(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const auto& operands = statement.operands;
  if (operands.size() != 3 || operands[2].bits != sizeof(TensorMap)) throw Unsupported{statement.opcode};
  const Word to = effective_address(decoder, decoder.address(operands[0])),
             from = effective_address(decoder, decoder.address(operands[1]));
  Instruction& in = decoder.emit(copy_map);
  in.a = to;
  in.b = from;
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

}  // namespace

void add_tensor_map(Table& table) {
  table.add_all({{"tensormap.replace", nullptr, {}, build_replace},
                 {"tensormap.cp_fenceproxy", nullptr, {}, build_copy}});
}

}  // namespace pkb::virtual_gpu
