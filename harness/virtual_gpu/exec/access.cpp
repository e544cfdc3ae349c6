// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "harness/virtual_gpu/exec/lanes.h"
#include "harness/virtual_gpu/exec/space.h"
#include "harness/virtual_gpu/exec/wide.h"

// ld, st, prefetch (PTX ISA 9.7.9). A lane's value of up to 8 bytes is one access of the host, so it is never
// seen in parts; strong accesses acquire and release, which costs nothing on x86.
namespace pkb::virtual_gpu {
namespace {

template <class T>
T load_one(const std::byte* from) {
  return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_ACQUIRE);
}
template <class T>
void store_one(std::byte* to, T value) {
  __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELEASE);
}

// The elements of a vector are accesses of their own, in no order (PTX ISA 8.2.2).

template <class Space, class T>
T get(Warp& warp, const Instruction& in, int lane, std::uint64_t address, const std::byte* from) {
  const StrongAccess bracket(warp, in, Space::kSpace, lane, address, sizeof(T), check::Access::Kind::read);
  return load_one<T>(from);
}

/// The value goes to memory at once, or as the schedule has it.
template <class Space, class T>
void put(Warp& warp, const Instruction& in, int lane, std::uint64_t address, std::byte* to, T value) {
  std::uint64_t there = address;
  DelayedStores* const delayed =
      where_is(Space::kSpace, there) == Where::global ? warp.block().delayed_stores() : nullptr;
  if (delayed != nullptr) delayed->settle(to, sizeof(T));  // also of another lane in the same instruction
  StrongAccess bracket(warp, in, Space::kSpace, lane, address, sizeof(T), check::Access::Kind::write);
  if (delayed != nullptr && delayed->takes())
    delayed->add({.warp = warp.index(), .lane = lane}, to, value, sizeof(T), bracket.announce_later());
  else
    store_one<T>(to, value);
}

/// Its order does not matter, and it is done at once.
bool is_simple(Warp& warp, const Instruction& in) {
  return !Ordering::of(in).is_strong() && warp.block().delayed_stores() == nullptr;
}

/// Lanes whose addresses follow each other, or are the same, are checked together.
template <class Space>
[[gnu::always_inline]] inline void check_together(Warp& warp, const Instruction& in, std::uint64_t first, std::uint32_t bytes,
                                                  bool same, check::Access::Kind kind) {
  if (warp.block().check() != nullptr) [[unlikely]]
    check_row(warp, in, Space::kSpace, first, bytes, same, kind);
}

/// Whether lane i's address is the first's plus i * step. The vector of differences is folded by hand: a
/// reduction to one element costs more than all the rest.
template <class A, A step>
[[gnu::always_inline]] inline bool in_steps(const A* addresses) {
  constexpr int kWidth = 32 / sizeof(A);
  using Vector [[gnu::vector_size(32)]] = A;
  using Halves [[gnu::vector_size(32)]] = std::uint64_t;
  Vector offsets{}, differs{};
  for (int i = 0; i < kWidth; ++i) offsets[i] = static_cast<A>(step * static_cast<A>(i));
  const Vector first = offsets + addresses[0];
  for (int lane = 0; lane < kLanes; lane += kWidth) {
    Vector part;
    std::memcpy(&part, addresses + lane, sizeof part);
    differs |= part ^ (first + static_cast<A>(step * static_cast<A>(lane)));
  }
  const auto halves = reinterpret_cast<Halves>(differs);
  return (halves[0] | halves[1] | halves[2] | halves[3]) == 0;
}

/// Widens what memory holds to the register, by sign for signed T.
template <class T, class Register>
Register extend(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<Register>(static_cast<std::make_signed_t<Register>>(value));
  else
    return value;
}

// Kept apart from the fast path, which then needs no stack frame.
template <class Space, class T, class Register>
[[gnu::noinline]] void gather(Warp& warp, const Instruction& in) {
  Register* d = warp.at<Register>(in.d);
  const Accesses<Space> access(warp, in, sizeof(T), Access::read);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::byte* from = access(warp, in, lane, sizeof(T), Access::read);
    if (from == nullptr) return;
    d[lane] = extend<T, Register>(get<Space, T>(warp, in, lane, access.address(lane), from));
  }
}

template <class Space, class T, class Register>
void load(Warp& warp, const Instruction& in) {
  using Address = typename Space::Address;
  const Address* addresses = warp.at<Address>(in.a);
  Register* d = warp.at<Register>(in.d);
  if (warp.mask() == kAllLanes && is_simple(warp, in)) {
    const Address first = static_cast<Address>(addresses[0] + in.immediate);
    const Address step = static_cast<Address>(addresses[1] - addresses[0]);
    if (first % sizeof(T) == 0) {
      if (step == sizeof(T) && in_steps<Address, sizeof(T)>(addresses)) {
        if (const std::byte* from = Space::map(warp, in, first, kLanes * sizeof(T), Access::read))
            [[likely]] {
          Space::account(warp, in, first, kLanes * sizeof(T), Access::read);
          check_together<Space>(warp, in, first, sizeof(T), false, check::Access::Kind::read);
          const T* values = reinterpret_cast<const T*>(from);
#pragma GCC ivdep
          for (int lane = 0; lane < kLanes; ++lane) d[lane] = extend<T, Register>(values[lane]);
          return;
        }
      } else if (step == 0 && in_steps<Address, 0>(addresses)) {
        if (const std::byte* from = Space::map(warp, in, first, sizeof(T), Access::read)) [[likely]] {
          Space::account(warp, in, first, kLanes * sizeof(T), Access::read);
          check_together<Space>(warp, in, first, sizeof(T), true, check::Access::Kind::read);
          const Register value = extend<T, Register>(load_one<T>(from));
          for (int lane = 0; lane < kLanes; ++lane) d[lane] = value;
          return;
        }
      }
    }
  }
  gather<Space, T, Register>(warp, in);
}

template <class Space, class T, class Register>
void load_vector(Warp& warp, const Instruction& in) {
  const std::uint64_t bytes = in.count * sizeof(T);
  const std::uint32_t* offsets = warp.block().kernel().lists.data() + in.list();
  const Accesses<Space> access(warp, in, bytes, Access::read);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    const std::byte* from = access(warp, in, lane, bytes, Access::read);
    if (from == nullptr) return;
    for (std::uint32_t i = 0, at = 0; i < in.count; ++i, at += sizeof(T))
      warp.at<Register>(offsets[i])[lane] =
          extend<T, Register>(get<Space, T>(warp, in, lane, access.address(lane) + at, from + at));
  }
}

template <class Space, class T, class Register>
[[gnu::noinline]] void scatter(Warp& warp, const Instruction& in) {
  const Register* values = warp.at<Register>(in.b);
  const Accesses<Space> access(warp, in, sizeof(T), Access::write);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* to = access(warp, in, lane, sizeof(T), Access::write);
    if (to == nullptr) return;
    put<Space>(warp, in, lane, access.address(lane), to, static_cast<T>(values[lane]));
  }
}

template <class Space, class T, class Register>
void store(Warp& warp, const Instruction& in) {
  using Address = typename Space::Address;
  const Address* addresses = warp.at<Address>(in.a);
  const Register* values = warp.at<Register>(in.b);
  if constexpr (Space::kSpace != ptx::Space::local) warp.progress();
  if (warp.mask() == kAllLanes && is_simple(warp, in)) {
    const Address first = static_cast<Address>(addresses[0] + in.immediate);
    const Address step = static_cast<Address>(addresses[1] - addresses[0]);
    if (first % sizeof(T) == 0 && step == sizeof(T) && in_steps<Address, sizeof(T)>(addresses)) {
      if (std::byte* to = Space::map(warp, in, first, kLanes * sizeof(T), Access::write)) [[likely]] {
        Space::account(warp, in, first, kLanes * sizeof(T), Access::write);
        check_together<Space>(warp, in, first, sizeof(T), false, check::Access::Kind::write);
        T* out = reinterpret_cast<T*>(to);
#pragma GCC ivdep
        for (int lane = 0; lane < kLanes; ++lane) out[lane] = static_cast<T>(values[lane]);
        return;
      }
    }
  }
  scatter<Space, T, Register>(warp, in);
}

template <class Space, class T, class Register>
void store_vector(Warp& warp, const Instruction& in) {
  const std::uint64_t bytes = in.count * sizeof(T);
  const std::uint32_t* offsets = warp.block().kernel().lists.data() + in.list();
  if constexpr (Space::kSpace != ptx::Space::local) warp.progress();
  const Accesses<Space> access(warp, in, bytes, Access::write);
  for (std::uint32_t left = warp.mask(); left != 0; left &= left - 1) {
    const int lane = std::countr_zero(left);
    std::byte* to = access(warp, in, lane, bytes, Access::write);
    if (to == nullptr) return;
    for (std::uint32_t i = 0, at = 0; i < in.count; ++i, at += sizeof(T))
      put<Space>(warp, in, lane, access.address(lane) + at, to + at, static_cast<T>(warp.at<Register>(offsets[i])[lane]));
  }
}

/// ld.param of a kernel's parameter: the same for all threads.
template <class T, class Register>
void load_parameter(Warp& warp, const Instruction& in) {
  const std::vector<std::byte>& parameters = warp.block().launch().parameters;
  if (in.immediate + sizeof(T) > parameters.size())
    return warp.fault(in, warp.first_lane(), Fault::Kind::illegal_address, in.immediate,
                      "the launch gave fewer parameters than the kernel reads");
  T raw;
  std::memcpy(&raw, parameters.data() + in.immediate, sizeof(T));
  const Register value = extend<T, Register>(raw);
  write<Register>(warp, in.d, [value](int) { return value; });
}

template <class T, class Register>
struct Kinds {
  template <class Space>
  struct Load {
    static constexpr Handler handler = load<Space, T, Register>;
  };
  template <class Space>
  struct LoadVector {
    static constexpr Handler handler = load_vector<Space, T, Register>;
  };
};
template <class T>
struct StoreKinds {
  using Register = Stored<T>;
  template <class Space>
  struct Store {
    static constexpr Handler handler = store<Space, T, Register>;
  };
  template <class Space>
  struct StoreVector {
    static constexpr Handler handler = store_vector<Space, T, Register>;
  };
};

struct LoadHandlers {
  Handler one, vector, parameter;
};
template <class T, class Register>
LoadHandlers load_handlers(const Place& place) {
  return {in_space<Kinds<T, Register>::template Load>(place),
          in_space<Kinds<T, Register>::template LoadVector>(place), load_parameter<T, Register>};
}

// A register may be wider than the type: the value is extended to it, by sign for signed types.
LoadHandlers loads_of(ptx::Type type, Slot slot, const Place& place) {
  using ptx::Type;
  const bool quad = slot == Slot::quad;
  switch (type) {
    case Type::b8:
    case Type::u8:
      return quad ? load_handlers<std::uint8_t, std::uint64_t>(place)
                  : load_handlers<std::uint8_t, std::uint32_t>(place);
    case Type::s8:
      return quad ? load_handlers<std::int8_t, std::uint64_t>(place)
                  : load_handlers<std::int8_t, std::uint32_t>(place);
    case Type::b16:
    case Type::u16:
    case Type::f16:
    case Type::bf16:
      return quad ? load_handlers<std::uint16_t, std::uint64_t>(place)
                  : load_handlers<std::uint16_t, std::uint32_t>(place);
    case Type::s16:
      return quad ? load_handlers<std::int16_t, std::uint64_t>(place)
                  : load_handlers<std::int16_t, std::uint32_t>(place);
    case Type::s32:
      return quad ? load_handlers<std::int32_t, std::uint64_t>(place)
                  : load_handlers<std::uint32_t, std::uint32_t>(place);
    case Type::b32:
    case Type::u32:
    case Type::f32:
    case Type::f16x2:
    case Type::bf16x2:
      return quad ? load_handlers<std::uint32_t, std::uint64_t>(place)
                  : load_handlers<std::uint32_t, std::uint32_t>(place);
    case Type::b64:
    case Type::u64:
    case Type::s64:
    case Type::f64:
      if (quad) return load_handlers<std::uint64_t, std::uint64_t>(place);
      break;
    default:
      break;
  }
  throw Unsupported{"a load of this type"};
}

struct StoreHandlers {
  Handler one, vector;
};
template <class T>
StoreHandlers store_handlers(const Place& place) {
  return {in_space<StoreKinds<T>::template Store>(place),
          in_space<StoreKinds<T>::template StoreVector>(place)};
}

StoreHandlers stores_of(std::size_t bytes, const Place& place) {
  switch (bytes) {
    case 1:
      return store_handlers<std::uint8_t>(place);
    case 2:
      return store_handlers<std::uint16_t>(place);
    case 4:
      return store_handlers<std::uint32_t>(place);
    case 8:
      return store_handlers<std::uint64_t>(place);
    default:
      throw Unsupported{"a store of this type"};
  }
}

constexpr std::array<std::string_view, 3> kVectors = {"v2", "v4", "v8"};

void build_load(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const Ordering ordering = take_ordering(modifiers);
  if (statement.operands.size() < 2) throw Unsupported{statement.opcode};
  const ptx::Operand &to = statement.operands[0], &from = statement.operands[1];
  const bool vector = modifiers.take_any(kVectors) >= 0;
  const ptx::Type type = modifiers.take_type();
  const Place place = take_place(decoder, modifiers, from);
  modifiers.finish();
  if (type == ptx::Type::b128) return emit_wide_load(decoder, statement, place, ordering);
  Slot slot = Slot::none;
  for (const ptx::Operand& element : vector ? to.elements : std::vector<ptx::Operand>{to})
    if (decoder.slot_of(element) != Slot::none) slot = decoder.slot_of(element);
  if (slot == Slot::none) slot = ptx::size_of(type) == 8 ? Slot::quad : Slot::word;
  const LoadHandlers handlers = loads_of(type, slot, place);
  const bool uniform = place.space == ptx::Space::param && !from.has_base;
  std::vector<std::uint32_t> offsets;
  for (const ptx::Operand& element : vector ? to.elements : std::vector<ptx::Operand>{to})
    offsets.push_back(decoder.destination(element, slot));
  if (uniform) {
    const auto symbol = decoder.symbol(from.name);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      Instruction& in = decoder.emit(handlers.parameter);
      in.d = offsets[i];
      in.immediate = (symbol ? symbol->address : 0) + from.bits + i * ptx::size_of(type);
    }
    return;
  }
  const Handler handler = vector ? handlers.vector : handlers.one;
  if (handler == nullptr) throw Unsupported{statement.opcode + " with a 32-bit address"};
  const std::uint32_t list = vector ? decoder.list(offsets) : 0;
  Instruction& in = decoder.emit(handler);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.d = offsets.at(0);
  in.e = list;
  in.count = static_cast<std::uint16_t>(offsets.size());
  in.flags = ordering.flags() | (place.address.slot == Slot::quad ? kWideAddress : 0);
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void build_store(Decoder& decoder, const ptx::Statement& statement, const Entry&) {
  Modifiers modifiers(statement.opcode);
  const Ordering ordering = take_ordering(modifiers);
  if (statement.operands.size() < 2) throw Unsupported{statement.opcode};
  const ptx::Operand& from = statement.operands[1];
  const bool vector = modifiers.take_any(kVectors) >= 0;
  const ptx::Type type = modifiers.take_type();
  const Place place = take_place(decoder, modifiers, statement.operands[0]);
  modifiers.finish();
  if (type == ptx::Type::b128) return emit_wide_store(decoder, statement, place, ordering);
  const StoreHandlers handlers = stores_of(ptx::size_of(type), place);
  const Handler handler = vector ? handlers.vector : handlers.one;
  if (handler == nullptr) throw Unsupported{statement.opcode + " with a 32-bit address"};
  const Slot slot = ptx::size_of(type) == 8 ? Slot::quad : Slot::word;
  std::vector<std::uint32_t> offsets;
  for (const ptx::Operand& element : vector ? from.elements : std::vector<ptx::Operand>{from})
    offsets.push_back(decoder.source(element, slot));
  const std::uint32_t list = vector ? decoder.list(offsets) : 0;
  Instruction& in = decoder.emit(handler);
  in.a = place.address.base;
  in.immediate = place.address.immediate;
  in.b = offsets.at(0);
  in.e = list;
  in.count = static_cast<std::uint16_t>(offsets.size());
  in.flags = ordering.flags();
  in.target = static_cast<std::int32_t>(decoder.kernel().memory_accesses++);
}

void nothing(Warp&, const Instruction&) {}

void build_hint(Decoder& decoder, const ptx::Statement&, const Entry&) { decoder.emit(nothing); }

}  // namespace

void add_access(Table& table) {
  table.add_all(
      {{"ld", nullptr, {}, build_load}, {"ldu", nullptr, {}, build_load}, {"st", nullptr, {}, build_store}});
  for (const char* name : {"prefetch", "prefetchu", "applypriority", "discard", "createpolicy"})
    table.add({name, nullptr, {}, build_hint});
}

}  // namespace pkb::virtual_gpu
