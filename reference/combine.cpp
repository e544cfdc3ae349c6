// SPDX-License-Identifier: Apache-2.0
#include "reference/combine.h"

#include <algorithm>
#include <cmath>

#include "reference/parallel.h"
#include "reference/scalar.h"

namespace pkb::ref {
namespace {

constexpr std::int64_t kGrain = 1 << 17;

template <class T, class Fn>
void each(std::byte* into, const std::byte* with, std::int64_t count, Fn fn) {
  auto* const a = reinterpret_cast<T*>(into);
  const auto* const b = reinterpret_cast<const T*>(with);
  parallel_for(count, kGrain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) a[i] = store<T>(fn(load(a[i]), load(b[i])));
  });
}

}  // namespace

void combine(DType dtype, Reduce op, std::byte* into, const std::byte* with, std::int64_t count) {
  visit_numeric(dtype, "reduction over ranks", [&](auto type) {
    using T = typename decltype(type)::type;
    using F = Compute<T>;
    switch (op) {
      case Reduce::sum:
      case Reduce::avg:
        return each<T>(into, with, count, [](F a, F b) { return static_cast<F>(a + b); });
      case Reduce::prod:
        return each<T>(into, with, count, [](F a, F b) { return static_cast<F>(a * b); });
      // A NaN stays: `a != a` is one in the first operand, and comparisons with one in the second are false.
      case Reduce::min:
        return each<T>(into, with, count, [](F a, F b) { return a != a || a < b ? a : b; });
      case Reduce::max:
        return each<T>(into, with, count, [](F a, F b) { return a != a || a > b ? a : b; });
    }
  });
}

void scale_for_average(DType dtype, std::byte* to, const std::byte* from, std::int64_t count, int ranks) {
  visit_floating(dtype, "average over ranks", [&](auto type) {
    using T = typename decltype(type)::type;
    const Compute<T> factor = load(store<T>(1.0 / ranks));
    auto* const out = reinterpret_cast<T*>(to);
    const auto* const in = reinterpret_cast<const T*>(from);
    parallel_for(count, kGrain, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) out[i] = store<T>(load(in[i]) * factor);
    });
  });
}

}  // namespace pkb::ref
