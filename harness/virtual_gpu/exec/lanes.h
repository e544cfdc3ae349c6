// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "harness/virtual_gpu/exec/decode.h"
#include "harness/virtual_gpu/exec/warp.h"

/// Instructions that work lane by lane: a function of one lane's values becomes a handler of 32 lanes.
namespace pkb::virtual_gpu {

/// How a C++ type lies in a register: `bool` is a predicate, the rest by size.
template <class T>
constexpr Slot slot_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Slot::predicate;
  else
    return sizeof(T) == 8 ? Slot::quad : Slot::word;
}

template <class T>
using Stored = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;

/// Unsigned integer of T's size.
template <class T>
using Bits =
    std::conditional_t<sizeof(T) == 8, std::uint64_t,
                       std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                          std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>>;

/// The values of one operand.
template <class T>
class Reader {
 public:
  Reader(Warp& warp, std::uint32_t offset) : x_values(warp.at<Stored<T>>(offset)) {}
  T operator[](int lane) const { return std::bit_cast<T>(static_cast<Bits<T>>(x_values[lane])); }

 private:
  const Stored<T>* x_values;
};

template <>
class Reader<bool> {
 public:
  Reader(Warp& warp, std::uint32_t offset) : x_lanes(warp.predicate(offset)) {}
  bool operator[](int lane) const { return (x_lanes >> lane & 1) != 0; }

 private:
  std::uint32_t x_lanes;
};

/// As it stands in a register: small integers extended by sign or zeros.
template <class T>
Stored<T> stored(T value) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<Stored<T>>(value);
  else
    return std::bit_cast<Bits<T>>(value);
}

/// `a` in the lanes of `mask`, else `b`. Arithmetic, since of a condition the compiler makes a branch a lane.
template <class T>
T choose(std::uint32_t mask, int lane, T a, T b) {
  const T all = static_cast<T>(T{0} - static_cast<T>(mask >> lane & 1));
  return static_cast<T>(b ^ ((a ^ b) & all));
}

/// Sets the executing lanes of `offset` to `value(lane)`, which may read the old value of the same lane only.
/// `Sparse` computes idle lanes not at all: for values that cost much more than a blend.
template <class T, bool Sparse = false, class Value>
[[gnu::always_inline]] inline void write(Warp& warp, std::uint32_t offset, Value value) {
  const std::uint32_t mask = warp.mask();
  if constexpr (std::is_same_v<T, bool>) {
    std::uint32_t lanes = 0;
    for (int lane = 0; lane < kLanes; ++lane) lanes |= static_cast<std::uint32_t>(value(lane)) << lane;
    std::uint32_t& predicate = warp.predicate(offset);
    predicate = (predicate & ~mask) | (lanes & mask);
  } else {
    auto* d = warp.at<Stored<T>>(offset);
    if (mask == kAllLanes) {
#pragma GCC ivdep  // a destination slot is a source slot or disjoint from it
      for (int lane = 0; lane < kLanes; ++lane) d[lane] = stored<T>(value(lane));
    } else if constexpr (Sparse) {
      for (std::uint32_t left = mask; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        d[lane] = stored<T>(value(lane));
      }
    } else {
#pragma GCC ivdep
      for (int lane = 0; lane < kLanes; ++lane) d[lane] = choose(mask, lane, stored<T>(value(lane)), d[lane]);
    }
  }
}

/// Handler and operand widths of a function `D f(A, B, ...)`.
template <auto f, bool Sparse, class = decltype(f)>
struct LaneWise;

template <auto f, bool Sparse, class D, class... S>
struct LaneWise<f, Sparse, D (*)(S...)> {
  static_assert(sizeof...(S) <= 4);
  static constexpr std::array<Slot, 5> kSlots = {slot_of<D>(), slot_of<S>()...};

  static void execute(Warp& warp, const Instruction& in) {
    execute(warp, in, std::index_sequence_for<S...>());
  }

  template <std::size_t... i>
  static void execute(Warp& warp, const Instruction& in, std::index_sequence<i...>) {
    const std::uint32_t offsets[] = {in.a, in.b, in.c, in.e};
    const std::tuple<Reader<S>...> sources(Reader<S>(warp, offsets[i])...);
    write<D, Sparse>(warp, in.d, [&](int lane) { return f(std::get<i>(sources)[lane]...); });
  }
};

/// The table entry of an instruction that applies `f` in every lane.
template <auto f>
Entry lanes(std::string name) {
  return {std::move(name), LaneWise<f, false>::execute, LaneWise<f, false>::kSlots, nullptr};
}

/// The same for an `f` that the compiler cannot make vector code of.
template <auto f>
Entry one_by_one(std::string name) {
  return {std::move(name), LaneWise<f, true>::execute, LaneWise<f, true>::kSlots, nullptr};
}

}  // namespace pkb::virtual_gpu
