// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include <fmt/format.h>

#include "harness/virtual_gpu/exec/atomic.h"
#include "harness/virtual_gpu/exec/checks.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/reduction.h"
#include "harness/virtual_gpu/exec/space.h"

// multimem.ld_reduce, multimem.st, multimem.red (PTX ISA 9.7.9.15): one address stands for a place in the memory of
// every rank. The order and precision in which a switch adds are not documented: here ranks are taken in order,
// 16-bit floats are added in f32 with or without .acc::f32 and rounded once, f32 and f64 each time.
namespace pkb::virtual_gpu {
namespace {

constexpr std::size_t kMostBytes = 16;

/// What ld_reduce makes of the elements in `bytes` bytes at each of `from`.
using Reduce = void (*)(std::byte* to, std::span<const std::byte* const> from, std::size_t bytes);

template <class T>
T load(const std::byte* from) {
  return std::bit_cast<T>(__atomic_load_n(reinterpret_cast<const Bits<T>*>(from), __ATOMIC_ACQUIRE));
}

template <class T, T (*f)(T, T)>
void reduce(std::byte* to, std::span<const std::byte* const> from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(T)) {
    T sum = load<T>(from[0] + at);
    for (const std::byte* each : from.subspan(1)) sum = f(sum, load<T>(each + at));
    std::memcpy(to + at, &sum, sizeof sum);
  }
}

/// 16-bit floats, which are loaded in pairs so that no pair is seen half written.
template <class H, float (*f)(float, float)>
void reduce_halves(std::byte* to, std::span<const std::byte* const> from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 4) {
    std::array<float, 2> sum{};
    for (std::size_t i = 0; i < from.size(); ++i) {
      const auto pair = std::bit_cast<std::array<H, 2>>(load<std::uint32_t>(from[i] + at));
      for (std::size_t k = 0; k < 2; ++k) sum[k] = i == 0 ? to_float(pair[k]) : f(sum[k], to_float(pair[k]));
    }
    constexpr SmallFormat kFormat = std::is_same_v<H, Half> ? kHalfFormat : kBrainFormat;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::uint16_t result = round_to(sum[k], kFormat, Rounding::nearest);
      std::memcpy(to + at + 2 * k, &result, sizeof result);
    }
  }
}

template <class T>
T add(T a, T b) {
  return static_cast<T>(a + b);
}
// As `min` and `max` of 16-bit floats: a number wins over NaN, and -0 is less than +0.
float least_float(float a, float b) { return a == b && std::signbit(b) ? b : std::fmin(a, b); }
float greatest_float(float a, float b) { return a == b && std::signbit(a) ? b : std::fmax(a, b); }

struct Reduction {
  std::string_view name;
  Reduce reduce;
};
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
constexpr Reduction kReductions[] = {
    {"add.u32", reduce<u32, add>},
    {"add.s32", reduce<u32, add>},
    {"add.u64", reduce<u64, add>},
    {"add.s64", reduce<u64, add>},
    {"min.u32", reduce<u32, least>},
    {"min.s32", reduce<s32, least>},
    {"min.u64", reduce<u64, least>},
    {"min.s64", reduce<s64, least>},
    {"max.u32", reduce<u32, greatest>},
    {"max.s32", reduce<s32, greatest>},
    {"max.u64", reduce<u64, greatest>},
    {"max.s64", reduce<s64, greatest>},
    {"and.b32", reduce<u32, and_>},
    {"and.b64", reduce<u64, and_>},
    {"or.b32", reduce<u32, or_>},
    {"or.b64", reduce<u64, or_>},
    {"xor.b32", reduce<u32, xor_>},
    {"xor.b64", reduce<u64, xor_>},
    {"add.f32", reduce<float, add>},
    {"add.f64", reduce<double, add>},
    {"add.f16", reduce_halves<Half, add>},
    {"add.f16x2", reduce_halves<Half, add>},
    {"add.bf16", reduce_halves<Brain, add>},
    {"add.bf16x2", reduce_halves<Brain, add>},
    {"min.f16", reduce_halves<Half, least_float>},
    {"min.f16x2", reduce_halves<Half, least_float>},
    {"min.bf16", reduce_halves<Brain, least_float>},
    {"min.bf16x2", reduce_halves<Brain, least_float>},
    {"max.f16", reduce_halves<Half, greatest_float>},
    {"max.f16x2", reduce_halves<Half, greatest_float>},
    {"max.bf16", reduce_halves<Brain, greatest_float>},
    {"max.bf16x2", reduce_halves<Brain, greatest_float>},
};

/// Where one lane's access goes on each rank.
class Replicas {
 public:
  Replicas(Warp& warp, const Instruction& in, check::Access::Kind kind) : x_warp(warp), x_in(in), x_kind(kind) {
    release_before(warp, in);
  }

  /// False after a fault. The checks see the access to every replica.
  bool find(int lane, std::uint64_t bytes) {
    const std::uint64_t address = x_warp.at<std::uint64_t>(x_in.a)[lane] + x_in.immediate;
    if (address % bytes != 0)
      return fault(lane, Fault::Kind::misaligned, address,
                   fmt::format("multimem access of {} bytes at {:#x}, which is not a multiple of {}", bytes, address,
                               bytes));
    BlockState& block = x_warp.block();
    if (x_multicast == nullptr || address - x_multicast->base >= x_multicast->bytes)
      x_multicast = block.allocation(address);
    if (x_multicast == nullptr || x_multicast->replicas.empty())
      return fault(lane, Fault::Kind::illegal_address, address,
                   fmt::format("multimem access at {:#x}, which is no multicast address but {}", address,
                               x_multicast == nullptr ? block.describe(address, bytes) : "in " + x_multicast->name));
    x_places.clear();
    x_brackets.clear();
    const bool writes = x_kind != check::Access::Kind::read;
    const auto slot = static_cast<std::uint32_t>(x_in.target);
    for (std::size_t rank = 0; rank < x_multicast->replicas.size(); ++rank) {
      const std::uint64_t there = x_multicast->replicas[rank] + (address - x_multicast->base);
      std::byte* const place = block.global(slot, there, bytes, writes);
      if (place == nullptr)
        return fault(lane, Fault::Kind::illegal_address, there,
                     fmt::format("multimem access of {} bytes at {:#x}, which on rank {} is {}", bytes, address, rank,
                                 block.describe(there, bytes)));
      block.count_global(slot, bytes, writes);
      x_places.push_back(place);
      if (Ordering::of(x_in).is_strong())
        x_brackets.emplace_back(x_warp, x_in, ptx::Space::global, lane, there, bytes, x_kind);
      else
        check_lane(x_warp, x_in, ptx::Space::global, lane, there, static_cast<std::uint32_t>(bytes), x_kind,
                   Ordering::of(x_in));
    }
    return true;
  }
  std::span<std::byte* const> places() const { return x_places; }

 private:
  bool fault(int lane, Fault::Kind kind, std::uint64_t address, std::string text) {
    x_warp.fault(x_in, lane, kind, address, std::move(text));
    return false;
  }

  Warp& x_warp;
  const Instruction& x_in;
  check::Access::Kind x_kind;
  const Allocation* x_multicast = nullptr;
  std::vector<std::byte*> x_places;
  std::vector<StrongAccess> x_brackets;  ///< until the next lane's
};

/// The elements of a lane's operand, as they lie in memory. `Element` is an unsigned integer of their size.
template <class Element>
void gather(Warp& warp, const std::uint32_t* offsets, std::size_t count, int lane, std::byte* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<Element>(warp.at<Stored<Element>>(offsets[i])[lane]);
    std::memcpy(to + i * sizeof value, &value, sizeof value);
  }
}

// a, immediate: address; lists: where the elements go; d: index of the reduction.
template <class Element>
void load_reduce(Warp& warp, const Instruction& in) {
  const std::uint32_t* offsets = warp.block().kernel().lists.data() + in.list();
  const std::size_t bytes = in.count * sizeof(Element);
  Replicas replicas(warp, in, check::Access::Kind::read);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!replicas.find(lane, bytes)) return;
    alignas(kMostBytes) std::array<std::byte, kMostBytes> result;
    kReductions[in.d].reduce(result.data(), replicas.places(), bytes);
    for (std::size_t i = 0; i < in.count; ++i) {
      Element value;
      std::memcpy(&value, result.data() + i * sizeof value, sizeof value);
      warp.at<Stored<Element>>(offsets[i])[lane] = value;
    }
  }
}

// a, immediate: address; lists: the elements of b.
template <class Element>
void store(Warp& warp, const Instruction& in) {
  const std::uint32_t* offsets = warp.block().kernel().lists.data() + in.list();
  const std::size_t bytes = in.count * sizeof(Element);
  warp.progress();
  Replicas replicas(warp, in, check::Access::Kind::write);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!replicas.find(lane, bytes)) return;
    for (std::byte* const place : replicas.places()) {
      for (std::size_t i = 0; i < in.count; ++i) {
        const auto value = static_cast<Element>(warp.at<Stored<Element>>(offsets[i])[lane]);
        __atomic_store_n(reinterpret_cast<Element*>(place) + i, value, __ATOMIC_RELEASE);
      }
    }
  }
}

// The reductions of `red`, by position; Instruction::d holds one.
constexpr std::array<std::string_view, 22> kUpdates = {
    "add.u32", "add.s32", "add.u64", "add.s64", "min.u32", "min.s32", "min.u64", "min.s64", "max.u32", "max.s32", "max.u64",
    "max.s64", "and.b32", "and.b64", "or.b32",  "or.b64",  "xor.b32", "xor.b64", "add.f32", "add.f64", "add.f16x2", "add.bf16x2"};

const std::array<Combine, kUpdates.size()>& updates() {
  static const auto all = [] {
    std::array<Combine, kUpdates.size()> found{};
    std::ranges::transform(kUpdates, found.begin(), [](std::string_view name) { return find_reduction(name, true); });
    return found;
  }();
  return all;
}

// a, immediate: address; lists: the elements of b; d: index of the update.
template <class Element>
void update(Warp& warp, const Instruction& in) {
  const std::uint32_t* offsets = warp.block().kernel().lists.data() + in.list();
  const std::size_t bytes = in.count * sizeof(Element);
  const Combine combine = updates()[in.d];
  warp.progress();
  Replicas replicas(warp, in, check::Access::Kind::update);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    if (!replicas.find(lane, bytes)) return;
    alignas(kMostBytes) std::array<std::byte, kMostBytes> values;
    gather<Element>(warp, offsets, in.count, lane, values.data());
    for (std::byte* const place : replicas.places()) combine(place, values.data(), bytes);
  }
}

template <template <class> class Select>
Handler for_bytes(std::size_t bytes) {
  switch (bytes) {
    case 2:
      return Select<std::uint16_t>::handler;
    case 4:
      return Select<std::uint32_t>::handler;
    case 8:
      return Select<std::uint64_t>::handler;
    default:
      return nullptr;
  }
}
template <class Element>
struct LoadReduce {
  static constexpr Handler handler = load_reduce<Element>;
};
template <class Element>
struct Store {
  static constexpr Handler handler = store<Element>;
};
template <class Element>
struct Update {
  static constexpr Handler handler = update<Element>;
};

constexpr std::array<std::string_view, 3> kForms = {"ld_reduce", "st", "red"};
constexpr std::array<std::string_view, 6> kOperations = {"add", "min", "max", "and", "or", "xor"};
constexpr std::array<std::string_view, 3> kVectors = {"v2", "v4", "v8"};

void build_multimem(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  Ordering ordering = take_ordering(modifiers);
  ordering.aliased = true;
  const int form = modifiers.take_any(kForms);
  const int operation = modifiers.take_any(kOperations);
  const bool vector = modifiers.take_any(kVectors) >= 0;
  modifiers.take("acc::f32");
  const ptx::Type type = modifiers.take_type();
  const auto& operands = statement.operands;
  if (form < 0 || (operation < 0) != (form == 1) || operands.size() != 2) throw Unsupported{statement.opcode};
  const bool loads = form == 0;
  const Place place = take_place(decoder, modifiers, operands[loads ? 1 : 0]);
  modifiers.finish();
  const std::size_t bytes = ptx::size_of(type);
  const ptx::Operand& values = operands[loads ? 0 : 1];
  const std::size_t count = vector ? values.elements.size() : 1;
  const bool fits = bytes * count == 4 || bytes * count == 8 || bytes * count == 16;
  if (place.address.slot != Slot::quad || !fits || (!vector && bytes == 2) || bytes > 8 ||
      (place.space != ptx::Space::global && place.space != ptx::Space::generic))
    throw Unsupported{statement.opcode};

  if (form == 2 && !ordering.is_strong()) ordering.order = check::Order::relaxed;
  std::uint32_t which = 0;
  if (form != 1) {
    const std::string name = fmt::format("{}.{}", kOperations[static_cast<std::size_t>(operation)], ptx::name_of(type));
    // Pairs are what is added atomically, whether PTX sees pairs or vectors of single 16-bit floats.
    const std::string paired = name == "add.f16" || name == "add.bf16" ? name + "x2" : name;
    const auto found = loads ? std::ranges::find(kReductions, name, &Reduction::name) - std::begin(kReductions)
                             : std::ranges::find(kUpdates, paired) - kUpdates.begin();
    const auto known = static_cast<std::ptrdiff_t>(loads ? std::size(kReductions) : kUpdates.size());
    if (found == known) throw Unsupported{statement.opcode};
    which = static_cast<std::uint32_t>(found);
  }
  const Slot slot = bytes == 8 ? Slot::quad : Slot::word;
  std::vector<std::uint32_t> offsets;
  for (const ptx::Operand& element : vector ? values.elements : std::vector<ptx::Operand>{values})
    offsets.push_back(loads ? decoder.destination(element, slot) : decoder.source(element, slot));
  const std::uint32_t list = decoder.list(offsets);
  Instruction& in = decoder.emit(loads       ? for_bytes<LoadReduce>(bytes)
                                 : form == 1 ? for_bytes<Store>(bytes)
                                             : for_bytes<Update>(bytes));
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.e = list;
  in.count = static_cast<std::uint16_t>(count);
  in.d = which;
  in.flags = ordering.flags();
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

}  // namespace

void add_multimem(Table& table) { table.add({"multimem", nullptr, {}, build_multimem}); }

}  // namespace pkb::virtual_gpu
