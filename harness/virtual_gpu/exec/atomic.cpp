// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/exec/atomic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "harness/virtual_gpu/exec/float.h"
#include "harness/virtual_gpu/exec/half_type.h"
#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/reduction.h"
#include "harness/virtual_gpu/exec/rounding.h"
#include "harness/virtual_gpu/exec/space.h"
#include "harness/virtual_gpu/exec/wide.h"

// atom and red (PTX ISA 9.7.13). Global memory is shared with other processes: each is an atomic of the host,
// lane by lane. Shared memory belongs to one host thread at a time, yet takes the same path.
namespace pkb::virtual_gpu {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

template <class T>
T add(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return pass_nan(a + b, a, b);
  else
    return a + b;
}
float add_flushed(float a, float b) { return flush(canonical(flush(a) + flush(b))); }
template <class T>
T exch(T, T b) {
  return b;
}
u32 inc(u32 a, u32 b) { return a >= b ? 0 : a + 1; }
u32 dec(u32 a, u32 b) { return a == 0 || a > b ? b : a - 1; }

template <class H>
std::uint16_t half_add(std::uint16_t a, std::uint16_t b) {
  return rounded<H>(to_float(H{a}) + to_float(H{b}))
      .bits;  // a float has the bits for one rounding to suffice
}
template <class H, bool least>
std::uint16_t half_extreme(std::uint16_t a, std::uint16_t b) {
  const float x = to_float(H{a}), y = to_float(H{b});
  if (x != x) return y != y ? kNan16 : b;
  if (y != y) return a;
  if (x == y) return std::signbit(x) == least ? a : b;  // -0 < +0
  return (x < y) == least ? a : b;
}
template <std::uint16_t (*f)(std::uint16_t, std::uint16_t)>
u32 of_two(u32 a, u32 b) {
  return u32{f(static_cast<std::uint16_t>(a >> 16), static_cast<std::uint16_t>(b >> 16))} << 16 |
         f(static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b));
}

/// Replaces what is at `at` by f(old, b) and returns the old value.
template <class T, T (*f)(T, T)>
T update(T* at, T b) {
  using B = Bits<T>;
  auto* bits = reinterpret_cast<B*>(at);
  B old = __atomic_load_n(bits, __ATOMIC_RELAXED);
  for (;;) {
    const B next = std::bit_cast<B>(f(std::bit_cast<T>(old), b));
    if (__atomic_compare_exchange_n(bits, &old, next, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
      return std::bit_cast<T>(old);
  }
}

// d: old value, a: address, b: operand. To the host every atomic acquires and releases.
template <class Space, class T, T (*f)(T, T)>
void atomic(Warp& warp, const Instruction& in) {
  const Accesses<Space> access(warp, in, sizeof(T), Access::write);
  const Reader<T> b(warp, in.b);
  auto* d = warp.at<Stored<T>>(in.d);
  bool changed = false;
  for (u32 left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at = access(warp, in, lane, sizeof(T), Access::write);
    if (at == nullptr) return;
    const StrongAccess strong(warp, in, Space::kSpace, lane, access.address(lane), sizeof(T), check::Access::Kind::update);
    const T old = update<T, f>(reinterpret_cast<T*>(at), b[lane]);
    changed |= std::bit_cast<Bits<T>>(old) != std::bit_cast<Bits<T>>(f(old, b[lane]));
    d[lane] = stored<T>(old);
  }
  if (changed) warp.progress();
}

// d: old value, a: address, b: expected, c: new value
template <class Space, class T>
void compare_and_swap(Warp& warp, const Instruction& in) {
  const Accesses<Space> access(warp, in, sizeof(T), Access::write);
  const Reader<T> expected(warp, in.b), wanted(warp, in.c);
  auto* d = warp.at<Stored<T>>(in.d);
  bool changed = false;
  for (u32 left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at = access(warp, in, lane, sizeof(T), Access::write);
    if (at == nullptr) return;
    StrongAccess strong(warp, in, Space::kSpace, lane, access.address(lane), sizeof(T), check::Access::Kind::update);
    T old = expected[lane];
    const bool swapped = __atomic_compare_exchange_n(reinterpret_cast<T*>(at), &old, wanted[lane], false,
                                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    if (!swapped) strong.only_read();
    changed |= swapped && wanted[lane] != old;
    d[lane] = old;
  }
  if (changed) warp.progress();
}

// A vector of elements, each one atomic of its own: a: address, lists: operands.
template <class Space, class T, T (*f)(T, T)>
void atomic_vector(Warp& warp, const Instruction& in) {
  const u64 bytes = in.count * sizeof(T);
  const std::uint32_t* sources = warp.block().kernel().lists.data() + in.list();
  const std::uint32_t* results = sources + in.count;
  const Accesses<Space> access(warp, in, bytes, Access::write);
  warp.progress();
  for (u32 left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* at = access(warp, in, lane, bytes, Access::write);
    if (at == nullptr) return;
    const StrongAccess strong(warp, in, Space::kSpace, lane, access.address(lane), bytes,
                              check::Access::Kind::update);
    for (u32 i = 0; i < in.count; ++i) {
      const Reader<T> b(warp, sources[i]);
      const T old = update<T, f>(reinterpret_cast<T*>(at + i * sizeof(T)), b[lane]);
      warp.at<Stored<T>>(results[i])[lane] = stored<T>(old);
    }
  }
}

template <class T, T (*f)(T, T)>
struct Update {
  template <class Space>
  struct One {
    static constexpr Handler handler = atomic<Space, T, f>;
  };
  template <class Space>
  struct Vector {
    static constexpr Handler handler = atomic_vector<Space, T, f>;
  };
};
template <class T>
struct Swap {
  template <class Space>
  struct One {
    static constexpr Handler handler = compare_and_swap<Space, T>;
  };
};

struct Operation {
  std::string_view name;  ///< "add.u32"
  Slot slot;
  std::size_t bytes;
  Handler (*one)(const Place&);
  Handler (*vector)(const Place&);
  Combine combine;
};

// Atomics know three spaces; the others are no place for them.
template <template <class> class Select>
Handler in_atomic_space(const Place& place) {
  const bool quad = place.address.slot == Slot::quad;
  switch (place.space) {
    case ptx::Space::global:
      return quad ? Select<GlobalSpace>::handler : nullptr;
    case ptx::Space::generic:
      return quad ? Select<GenericSpace>::handler : nullptr;
    case ptx::Space::shared:
      return quad ? Select<SharedSpace<u64>>::handler : Select<SharedSpace<u32>>::handler;
    case ptx::Space::local:
    case ptx::Space::param:
    case ptx::Space::constant:
      break;
  }
  return nullptr;
}

template <class T, T (*f)(T, T)>
void combine(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    T value;
    std::memcpy(&value, from + at, sizeof value);
    update<T, f>(reinterpret_cast<T*>(to + at), value);
  }
}

template <class T, T (*f)(T, T)>
constexpr Operation operation(std::string_view name) {
  return {name,    slot_of<T>(),   sizeof(T), in_atomic_space<Update<T, f>::template One>,
          nullptr, combine<T, f>};
}
template <class T, T (*f)(T, T)>
constexpr Operation vector_operation(std::string_view name) {
  return {name,
          slot_of<T>(),
          sizeof(T),
          in_atomic_space<Update<T, f>::template One>,
          in_atomic_space<Update<T, f>::template Vector>,
          combine<T, f>};
}
template <class T>
constexpr Operation swap(std::string_view name) {
  return {name, slot_of<T>(), sizeof(T), in_atomic_space<Swap<T>::template One>, nullptr, nullptr};
}

using s32 = std::int32_t;
using s64 = std::int64_t;
constexpr Operation kOperations[] = {
    operation<u32, add<u32>>("add.u32"), operation<u32, add<u32>>("add.s32"),
    operation<u64, add<u64>>("add.u64"), operation<u64, add<u64>>("add.s64"),
    operation<u32, least<u32>>("min.u32"), operation<s32, least<s32>>("min.s32"),
    operation<u64, least<u64>>("min.u64"), operation<s64, least<s64>>("min.s64"),
    operation<u32, greatest<u32>>("max.u32"), operation<s32, greatest<s32>>("max.s32"),
    operation<u64, greatest<u64>>("max.u64"), operation<s64, greatest<s64>>("max.s64"),
    operation<u32, and_<u32>>("and.b32"), operation<u64, and_<u64>>("and.b64"),
    operation<u32, or_<u32>>("or.b32"), operation<u64, or_<u64>>("or.b64"),
    operation<u32, xor_<u32>>("xor.b32"), operation<u64, xor_<u64>>("xor.b64"),
    operation<u32, exch<u32>>("exch.b32"), operation<u64, exch<u64>>("exch.b64"),
    operation<u32, inc>("inc.u32"), operation<u32, dec>("dec.u32"), swap<std::uint16_t>("cas.b16"),
    swap<u32>("cas.b32"), swap<u64>("cas.b64"),
    // f32 addition flushes subnormal numbers in global memory only; see build_atomic.
    vector_operation<float, add<float>>("add.f32"), operation<double, add<double>>("add.f64"),
    vector_operation<std::uint16_t, half_add<Half>>("add.f16"),
    vector_operation<std::uint16_t, half_add<Brain>>("add.bf16"),
    vector_operation<u32, of_two<half_add<Half>>>("add.f16x2"),
    vector_operation<u32, of_two<half_add<Brain>>>("add.bf16x2"),
    vector_operation<std::uint16_t, half_extreme<Half, true>>("min.f16"),
    vector_operation<std::uint16_t, half_extreme<Half, false>>("max.f16"),
    vector_operation<std::uint16_t, half_extreme<Brain, true>>("min.bf16"),
    vector_operation<std::uint16_t, half_extreme<Brain, false>>("max.bf16"),
    vector_operation<u32, of_two<half_extreme<Half, true>>>("min.f16x2"),
    vector_operation<u32, of_two<half_extreme<Half, false>>>("max.f16x2"),
    vector_operation<u32, of_two<half_extreme<Brain, true>>>("min.bf16x2"),
    vector_operation<u32, of_two<half_extreme<Brain, false>>>("max.bf16x2")};
constexpr Operation kFlushedAdd = vector_operation<float, add_flushed>("add.f32");

const Operation* find(std::string_view name, bool flushes) {
  if (flushes && name == "add.f32") return &kFlushedAdd;
  for (const Operation& known : kOperations)
    if (known.name == name) return &known;
  return nullptr;
}

constexpr std::array<std::string_view, 11> kNames = {"add",  "min", "max", "and", "or",   "xor",
                                                     "exch", "inc", "dec", "cas", "noftz"};
constexpr std::array<std::string_view, 3> kVectors = {"v2", "v4", "v8"};

// atom{...}.op.type d, [a], b{, c};  red{...}.op.type [a], b;
void build_atomic(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  const bool returns = statement.opcode.starts_with("atom");
  Modifiers modifiers(statement.opcode);
  Ordering ordering = take_ordering(modifiers);
  if (!ordering.is_strong()) ordering.order = check::Order::relaxed;
  modifiers.take("noftz");
  const int which = modifiers.take_any(kNames);
  const bool vector = modifiers.take_any(kVectors) >= 0;
  const ptx::Type type = modifiers.take_type();
  const std::size_t first = returns ? 1 : 0;
  if (which < 0 || statement.operands.size() < first + 2) throw Unsupported{statement.opcode};
  const Place place = take_place(decoder, modifiers, statement.operands[first]);
  modifiers.finish();
  const bool swaps = kNames[static_cast<std::size_t>(which)] == "cas";
  if (type == ptx::Type::b128 && returns && (swaps || kNames[static_cast<std::size_t>(which)] == "exch"))
    return emit_wide_atomic(decoder, statement, place, ordering, swaps);
  const std::string name =
      std::string(kNames[static_cast<std::size_t>(which)]) + "." + std::string(ptx::name_of(type));
  const Operation* operation = find(name, place.space == ptx::Space::global);
  if (operation == nullptr || (vector && operation->vector == nullptr)) throw Unsupported{statement.opcode};
  const Handler handler = vector ? operation->vector(place) : operation->one(place);
  if (handler == nullptr) throw Unsupported{statement.opcode + " with such an address"};
  std::vector<std::uint32_t> sources, results;
  const ptx::Operand& from = statement.operands[first + 1];
  for (const ptx::Operand& element : vector ? from.elements : std::vector<ptx::Operand>{from})
    sources.push_back(decoder.source(element, operation->slot));
  if (swaps && statement.operands.size() < first + 3) throw Unsupported{statement.opcode};
  const std::uint32_t wanted = swaps ? decoder.source(statement.operands[first + 2], operation->slot) : 0;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!returns)
      results.push_back(i == 0 ? decoder.temporary(operation->slot) : results[0]);
    else
      results.push_back(decoder.destination(
          vector ? statement.operands[0].elements.at(i) : statement.operands[0], operation->slot));
  }
  std::vector<std::uint32_t> both = sources;
  both.insert(both.end(), results.begin(), results.end());
  const std::uint32_t list = vector ? decoder.list(both) : 0;
  Instruction& in = decoder.emit(handler);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = sources[0];
  in.c = wanted;
  in.d = results[0];
  in.e = list;
  in.count = static_cast<std::uint16_t>(sources.size());
  in.flags = ordering.flags() | (place.address.slot == Slot::quad ? kWideAddress : 0);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

}  // namespace

Combine find_reduction(std::string_view name, bool flushes) {
  const Operation* operation = find(name, flushes);
  return operation == nullptr ? nullptr : operation->combine;
}

void add_atomic(Table& table) {
  table.add_all({{"atom", nullptr, {}, build_atomic}, {"red", nullptr, {}, build_atomic}});
}

}  // namespace pkb::virtual_gpu
