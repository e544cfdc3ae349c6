// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/async_copy.h"
#include "harness/virtual_gpu/exec/atomic.h"
#include "harness/virtual_gpu/exec/bulk.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"
#include "harness/virtual_gpu/exec/tensor_map.h"

// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor and their prefetch (PTX ISA 9.7.9.27). The tensor map is
// read when the copy is issued; what it says is moved later, as other bulk copies.
namespace pkb::virtual_gpu {
namespace {

using Word = std::uint32_t;
using Quad = std::uint64_t;

enum class Direction : std::uint8_t { load, store, prefetch };

// Instruction::flags beside the direction
constexpr std::uint8_t kDirection = 3, kMulticast = 4, kIm2col = 8;

constexpr std::uint64_t kSharedAlignment = 128, kMapAlignment = 64;
constexpr std::int64_t kGlobalAlignment = 16;

constexpr std::array<std::string_view, 8> kReductions = {"add", "min", "max", "inc",
                                                         "dec", "and", "or",  "xor"};
constexpr std::size_t kTypes = static_cast<std::size_t>(TensorMap::Type::tf32_ftz) + 1;

/// The name of `red`'s operation on elements of a tensor; empty where the ISA's table has none.
std::string reduction_name(std::string_view operation, TensorMap::Type type) {
  using Type = TensorMap::Type;
  const auto either = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), operation) != names.end();
  };
  const bool adds = operation == "add", extreme = either({"min", "max"}), counts = either({"inc", "dec"});
  const auto named = [&](bool valid, std::string_view of) {
    return valid ? fmt::format("{}.{}", operation, of) : "";
  };
  const bool logic = !adds && !extreme && !counts;
  switch (type) {
    case Type::u32:
      return named(true, logic ? "b32" : "u32");
    case Type::s32:
      return named(!counts, logic ? "b32" : "s32");
    case Type::u64:
      return named(!counts, logic ? "b64" : "u64");
    case Type::s64:
      return named(extreme || logic, logic ? "b64" : "s64");
    case Type::f16:
      return named(adds || extreme, "f16");
    case Type::bf16:
      return named(adds || extreme, "bf16");
    case Type::f32:
    case Type::f32_ftz:
      return named(adds, "f32");
    case Type::u8:
    case Type::u16:
    case Type::f64:
    case Type::tf32:
    case Type::tf32_ftz:
      break;
  }
  return "";
}

/// Null where there is no such reduction.
Combine reduction(std::size_t operation, TensorMap::Type type) {
  using Table = std::array<std::array<Combine, kTypes>, kReductions.size()>;
  static const Table table = [] {
    Table all{};
    for (std::size_t i = 0; i < kReductions.size(); ++i)
      for (std::size_t j = 0; j < kTypes; ++j) {
        const auto of = static_cast<TensorMap::Type>(j);
        const std::string name = reduction_name(kReductions[i], of);
        all[i][j] = name.empty() ? nullptr : find_reduction(name, of == TensorMap::Type::f32_ftz);
      }
    return all;
  }();
  return table[operation][static_cast<std::size_t>(type)];
}

std::string opcode_of(Warp& warp, const Instruction& in) {
  return warp.block().kernel().places[in.place].opcode;
}

void refuse(Warp& warp, const Instruction& in, int lane, const std::string& why) {
  warp.fault(in, lane, Fault::Kind::invalid_instruction, 0, fmt::format("{}: {}", opcode_of(warp, in), why));
}

/// The tensor map at a generic address; nothing after a fault.
std::optional<TensorMap> read_map(Warp& warp, const Instruction& in, int lane, Quad address) {
  if (!aligned(warp, in, lane, address, kMapAlignment)) return std::nullopt;
  if (address - kSharedWindow < kSharedWindow || address - kLocalWindow < kSharedWindow) {
    refuse(warp, in, lane, "the tensor map is neither in global or constant memory nor a kernel parameter");
    return std::nullopt;
  }
  std::array<std::byte, sizeof(TensorMap)> bytes;
  const std::byte* at = lane_range(warp, in, lane, ptx::Space::generic, address, bytes.size(), Access::read);
  if (at == nullptr) return std::nullopt;
  std::memcpy(bytes.data(), at, bytes.size());
  const auto map = std::bit_cast<TensorMap>(bytes);
  if (const char* problem = problem_of(map)) {
    refuse(warp, in, lane, fmt::format("the tensor map at {:#x} cannot be used: {}", address, problem));
    return std::nullopt;
  }
  return map;
}

struct Request {
  TensorMap map;
  TensorBox box;
  Quad shared = 0, mbarrier = 0;  ///< shared::cluster addresses
};

/// What the operands of one lane ask for; nothing after a fault.
std::optional<Request> request_of(Warp& warp, const Instruction& in, int lane) {
  const auto direction = static_cast<Direction>(in.flags & kDirection);
  const auto map = read_map(warp, in, lane, warp.at<Quad>(in.a)[lane]);
  if (!map) return std::nullopt;
  Request request;
  request.map = *map;
  const auto wrong = [&](const std::string& why) {
    refuse(warp, in, lane, why);
    return std::nullopt;
  };
  const bool im2col = (in.flags & kIm2col) != 0;
  if (in.count != map->rank)
    return wrong(fmt::format("{} coordinates for a tensor of {} dimensions", in.count, map->rank));
  if (im2col != (map->mode == TensorMap::Mode::im2col))
    return wrong(im2col ? "the tensor map was made for tiles" : "the tensor map was made for im2col");
  if (im2col && map->interleave != TensorMap::Interleave::none) {
    warp.fault(in, lane, Fault::Kind::unsupported, 0, "the virtual GPU lacks im2col of interleaved tensors");
    return std::nullopt;
  }
  const Word* operands = warp.block().kernel().lists.data() + in.list();
  for (std::size_t i = 0; i < map->rank; ++i)
    request.box.coordinates[i] = static_cast<std::int32_t>(warp.at<Word>(operands[i])[lane]);
  if (im2col && direction != Direction::store)
    for (std::size_t i = 0; i + 2 < map->rank; ++i)
      request.box.offsets[i] = static_cast<std::uint16_t>(warp.at<Word>(operands[map->rank + i])[lane]);
  if (im2col && !in_bounding_box(*map, request.box))
    return wrong("the coordinates lie outside of the bounding box");
  if (direction == Direction::prefetch) return request;
  if (!im2col) {
    // The ISA does not say so; an H200 ends kernels over either.
    const auto& at = request.box.coordinates;
    if (std::int64_t{at[0]} * map->unit_bytes() % kGlobalAlignment != 0)
      return wrong(fmt::format("the innermost coordinate, {}, is not a multiple of 16 bytes", at[0]));
    const auto before = std::find_if(at.begin(), at.end(), [](std::int32_t each) { return each < 0; });
    if (direction == Direction::store && before != at.end())
      return wrong(fmt::format("a store starts in front of the tensor: coordinate {} is {}", before - at.begin(), *before));
  }
  request.shared = warp.at<Quad>(in.b)[lane];
  if (!aligned(warp, in, lane, request.shared, kSharedAlignment)) return std::nullopt;
  if (direction == Direction::store) {
    if (map->atom == TensorMap::Atom::bytes_32_flipped) return wrong("only loads flip the halves of chunks");
    return request;
  }
  request.mbarrier = warp.at<Quad>(in.d)[lane];
  if (!aligned(warp, in, lane, request.mbarrier, sizeof(Quad))) return std::nullopt;
  return request;
}

/// Bytes to fill with: as many as a piece can have.
const std::byte* fill_of(const TensorMap& map) {
  static const auto nans = [] {
    std::array<std::byte, 256 * sizeof(Quad)> bytes;
    TensorMap floats;
    floats.fill = TensorMap::Fill::nan;
    fill(floats, bytes);
    return bytes;
  }();
  return map.fill == TensorMap::Fill::nan ? nans.data() : nullptr;
}

/// Checks all addresses of a copy and issues it. False after a fault.
bool issue(Warp& warp, const Instruction& in, int lane, const Request& request, Combine combine) {
  const bool loads = static_cast<Direction>(in.flags & kDirection) == Direction::load;
  TensorBox box = request.box;
  box.shared_address = static_cast<Word>(request.shared & ((1u << kRankShift) - 1));
  std::byte* const shared = lane_range(warp, in, lane, ptx::Space::shared, request.shared,
                                       box_extent(request.map), loads ? Access::write : Access::read);
  if (shared == nullptr) return false;
  auto copy = warp.copies().fresh();
  copy->in = &in;
  copy->lanes = 1u << lane;
  copy->completion = loads ? AsyncCopy::Completion::mbarrier : AsyncCopy::Completion::bulk_group;
  copy->combine = combine;
  copy->mbarrier = request.mbarrier;
  copy->transactions = box_bytes(request.map);
  if (is_tf32(request.map.type) && loads) copy->convert = round_to_tf32;
  std::uint32_t& owner = loads ? copy->source_owner : copy->target_owner;
  for (const TensorPiece& piece : pieces_of(request.map, box)) {
    if (!piece.inside && !loads) continue;
    std::byte* global = nullptr;
    if (piece.inside) {
      global = lane_range(warp, in, lane, ptx::Space::global, piece.global, piece.bytes,
                          loads ? Access::read : Access::write);
      if (global == nullptr) return false;
      owner = warp.block().owner(static_cast<Word>(in.target));
    }
    const Quad shared_address = kSharedWindow + request.shared + piece.shared;
    if (loads)
      copy->pieces.push_back({piece.inside ? piece.global : 0, shared_address,
                              piece.inside ? global : fill_of(request.map), shared + piece.shared,
                              piece.bytes, lane});
    else
      copy->pieces.push_back(
          {shared_address, piece.global, shared + piece.shared, global, piece.bytes, lane});
  }
  warp.copies().issue(std::move(copy));
  return true;
}

// a: tensor map; b: shared memory; d: mbarrier; c: blocks of a multicast; list: coordinates, im2col offsets;
// count: coordinates; immediate: reduction, plus 1.
void tensor_copy(Warp& warp, const Instruction& in) {
  for (Word left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    auto request = request_of(warp, in, lane);
    if (!request) return;
    if (static_cast<Direction>(in.flags & kDirection) == Direction::prefetch) continue;
    Combine combine = nullptr;
    if (in.immediate != 0) {
      combine = reduction(in.immediate - 1, request->map.type);
      if (combine == nullptr)
        return warp.fault(in, lane, Fault::Kind::unsupported, 0,
                          fmt::format("{} of elements of this type", opcode_of(warp, in)));
    }
    const auto one = [&](Quad shared, Quad mbarrier) {
      request->shared = shared;
      request->mbarrier = mbarrier;
      return issue(warp, in, lane, *request, combine);
    };
    const bool issued = (in.flags & kMulticast) == 0
                            ? one(request->shared, request->mbarrier)
                            : each_destination(warp, in, lane, warp.at<Word>(in.c)[lane] & 0xffff,
                                               request->shared, request->mbarrier, one);
    if (!issued) return;
  }
}

struct Operands {
  Word map = 0, shared = 0, mbarrier = 0, blocks = 0, list = 0;
  std::uint16_t coordinates = 0;
};

// The statement's modifiers, but for the direction's own.
struct Form {
  int dimensions = 0;
  bool im2col = false, multicast = false;
};

Form take_form(Modifiers& modifiers, const ptx::Statement& statement, Direction direction) {
  static constexpr std::array<std::string_view, 5> kDimensions = {"1d", "2d", "3d", "4d", "5d"};
  for (const char* name : {"async", "bulk", "tensor", "global", "tile", "L2::cache_hint"})
    modifiers.take(name);
  Form form;
  form.dimensions = modifiers.take_any(kDimensions) + 1;
  form.im2col = modifiers.take(direction == Direction::store ? "im2col_no_offs" : "im2col");
  if (form.dimensions == 0 || (form.im2col && form.dimensions < 3)) throw Unsupported{statement.opcode};
  return form;
}

/// [map, {coordinates}] and im2col offsets.
void set_box(Decoder& decoder, const ptx::Statement& statement, const Form& form, const ptx::Operand& map,
             const ptx::Operand* offsets, Operands& out) {
  if (map.kind != ptx::Operand::Kind::address || map.elements.size() != 1)
    throw Unsupported{statement.opcode};
  std::vector<Word> list;
  for (const ptx::Operand& coordinate : map.elements[0].elements)
    list.push_back(decoder.source(coordinate, Slot::word));
  if (list.size() != static_cast<std::size_t>(form.dimensions)) throw Unsupported{statement.opcode};
  out.coordinates = static_cast<std::uint16_t>(list.size());
  if (offsets != nullptr) {
    if (offsets->elements.size() + 2 != list.size()) throw Unsupported{statement.opcode};
    for (const ptx::Operand& offset : offsets->elements) list.push_back(decoder.source(offset, Slot::word));
  }
  out.map = effective_address(decoder, decoder.address(map));
  out.list = decoder.list(list);
}

void emit(Decoder& decoder, const Operands& operands, Direction direction, const Form& form, int reduces) {
  Instruction& in = decoder.emit(tensor_copy);
  in.a = operands.map;
  in.b = operands.shared;
  in.c = operands.blocks;
  in.d = operands.mbarrier;
  in.e = operands.list;
  in.count = operands.coordinates;
  in.immediate = static_cast<Quad>(reduces + 1);
  in.flags = static_cast<std::uint8_t>(static_cast<std::uint8_t>(direction) |
                                       (form.multicast ? kMulticast : 0) | (form.im2col ? kIm2col : 0));
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

// ...<to>.global... [to], [map, coordinates], [mbarrier]{, offsets}{, blocks}{, cache policy}
void build_load(Decoder& decoder, const ptx::Statement& statement) {
  Modifiers modifiers(statement.opcode);
  Form form = take_form(modifiers, statement, Direction::load);
  form.multicast = modifiers.take("multicast::cluster");
  if ((!modifiers.take("shared::cluster") && !modifiers.take("shared::cta")) ||
      !modifiers.take("mbarrier::complete_tx::bytes"))
    throw Unsupported{statement.opcode};
  modifiers.finish();
  const auto& operands = statement.operands;
  const std::size_t behind = form.im2col ? 4 : 3;
  if (operands.size() < behind + (form.multicast ? 1 : 0)) throw Unsupported{statement.opcode};
  Operands out;
  set_box(decoder, statement, form, operands[1], form.im2col ? &operands[3] : nullptr, out);
  out.shared = effective_address(decoder, decoder.address(operands[0]));
  out.mbarrier = effective_address(decoder, decoder.address(operands[2]));
  if (form.multicast) out.blocks = decoder.source(operands[behind], Slot::word);
  emit(decoder, out, Direction::load, form, -1);
}

// ...global.shared::cta{.operation}... [map, coordinates], [from]{, cache policy}
void build_store(Decoder& decoder, const ptx::Statement& statement) {
  Modifiers modifiers(statement.opcode);
  const Form form = take_form(modifiers, statement, Direction::store);
  const int operation = statement.opcode.starts_with("cp.reduce") ? modifiers.take_any(kReductions) : -1;
  if (statement.opcode.starts_with("cp.reduce") && (!modifiers.take("reduce") || operation < 0))
    throw Unsupported{statement.opcode};
  if (!modifiers.take("shared::cta") || !modifiers.take("bulk_group") || statement.operands.size() < 2)
    throw Unsupported{statement.opcode};
  modifiers.finish();
  Operands out;
  set_box(decoder, statement, form, statement.operands[0], nullptr, out);
  out.shared = effective_address(decoder, decoder.address(statement.operands[1]));
  emit(decoder, out, Direction::store, form, operation);
}

void build_copy(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const bool stores = statement.opcode.find(".global.shared::cta") != std::string::npos;
  stores ? build_store(decoder, statement) : build_load(decoder, statement);
}

// cp.async.bulk.prefetch.tensor... [map, coordinates]{, offsets}{, cache policy}
void build_prefetch(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const Form form = take_form(modifiers, statement, Direction::prefetch);
  if (!modifiers.take("prefetch") || !modifiers.take("L2") ||
      statement.operands.size() < (form.im2col ? 2u : 1u))
    throw Unsupported{statement.opcode};
  modifiers.finish();
  Operands out;
  set_box(decoder, statement, form, statement.operands[0], form.im2col ? &statement.operands[1] : nullptr,
          out);
  emit(decoder, out, Direction::prefetch, form, -1);
}

}  // namespace

void add_tensor_copy(Table& table) {
  table.add_all({{"cp.async.bulk.tensor", nullptr, {}, build_copy},
                 {"cp.reduce.async.bulk.tensor", nullptr, {}, build_copy},
                 {"cp.async.bulk.prefetch.tensor", nullptr, {}, build_prefetch}});
}

}  // namespace pkb::virtual_gpu
