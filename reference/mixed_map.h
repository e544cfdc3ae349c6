// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>

#include "reference/iteration.h"
#include "reference/loop.h"
#include "reference/scalar.h"
#include "reference/tensor.h"

/// Elementwise operators whose operands differ in dtype, from one functor for host and cuda; for .cu files.
namespace pkb::ref {

namespace detail {

template <class Out, class... In>
struct MixedPointers {
  Out* out;
  std::tuple<const In*...> in;
};

template <class Fn, class Out, class... In>
struct MixedMap {
  Fn fn;
  MixedPointers<Out, In...> pointers;
  Walk<1 + sizeof...(In)> walk;
  bool dense;

  PKB_HD void operator()(std::int64_t i) const {
    std::int64_t at[1 + sizeof...(In)];
    if (dense)
      for (std::int64_t& each : at) each = i;
    else
      walk.offsets(i, at);
    apply(at, std::index_sequence_for<In...>{});
  }

 private:
  template <std::size_t... I>
  PKB_HD void apply(const std::int64_t* at, std::index_sequence<I...>) const {
    pointers.out[at[0]] = store<Out>(fn(load(std::get<I>(pointers.in)[at[1 + I]])...));
  }
};

}  // namespace detail

/// out = fn(in...), elementwise, the element types being named: map_mixed<std::uint8_t, float, float>(...).
/// `in` are expanded to the shape of `out`. The functor gets and gives compute types; one rounding.
template <class Out, class... In, class Fn, class... Tensors>
void map_mixed(const Tensor& out, const Fn& fn, const Tensors&... in) {
  static_assert(sizeof...(In) == sizeof...(Tensors));
  (require(in.place() == out.place(), "operands are on {} and {}; move one", name_of(out.place()),
           name_of(in.place())),
   ...);
  const auto walk = ref::walk(out, in.expand(out.shape())...);
  loop(out.place(), walk.count,
       detail::MixedMap<Fn, Out, In...>{fn, {out.as<Out>(), {in.template as<const In>()...}}, walk, walk.dense()});
}

}  // namespace pkb::ref
