// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "reference/iteration.h"
#include "reference/parallel.h"
#include "reference/scalar.h"
#include "reference/tensor.h"
#if defined(__CUDACC__)
#include "reference/cuda_check.h"
#include "reference/device.h"
#endif

/// Elementwise operators from one functor for host and cuda; for .cu files.
///
///     struct Silu {
///       template <class F> PKB_HD F operator()(F x) const { return x / (1 + std::exp(-x)); }
///     };
///     Tensor silu(const Tensor& x) { return map(Silu{}, x); }
///
/// The functor computes in float for bf16, fp16 and fp32 and in double for fp64; its result is rounded once.
/// One derived from TakesIntegers is also called with the integer dtypes, in their own type.
namespace pkb::ref {

namespace detail {

template <class T, int N>
struct Operands {
  T* out;
  const T* in[N];
};

template <class T, class Fn, int N, std::size_t... I>
PKB_HD T apply(const Fn& fn, const T (&in)[N], std::index_sequence<I...>) {
  return store<T>(fn(load(in[I])...));
}

#if defined(__CUDACC__)

template <class T>
inline constexpr int kPack = 16 / sizeof(T);

/// 16 bytes of elements, moved by one instruction.
template <class T>
struct alignas(16) Pack {
  T items[kPack<T>];
};

/// The first `packs` threads take a pack each, the others one element of the tail each.
template <class T, class Fn, int N>
__global__ void map_dense(Fn fn, Operands<T, N> operands, std::int64_t packs, std::int64_t count) {
  const std::int64_t thread = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  constexpr auto kEach = std::make_index_sequence<N>{};
  if (thread < packs) {
    Pack<T> in[N], out;
    for (int n = 0; n < N; ++n) in[n] = reinterpret_cast<const Pack<T>*>(operands.in[n])[thread];
    for (int i = 0; i < kPack<T>; ++i) {
      T items[N];
      for (int n = 0; n < N; ++n) items[n] = in[n].items[i];
      out.items[i] = apply<T>(fn, items, kEach);
    }
    reinterpret_cast<Pack<T>*>(operands.out)[thread] = out;
  } else if (const std::int64_t i = packs * kPack<T> + (thread - packs); i < count) {
    T items[N];
    for (int n = 0; n < N; ++n) items[n] = operands.in[n][i];
    operands.out[i] = apply<T>(fn, items, kEach);
  }
}

template <class T, class Fn, int N>
__global__ void map_strided(Fn fn, Operands<T, N> operands, Walk<N + 1> walk) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= walk.count) return;
  std::int64_t at[N + 1];
  walk.offsets(i, at);
  T items[N];
  for (int n = 0; n < N; ++n) items[n] = operands.in[n][at[n + 1]];
  operands.out[at[0]] = apply<T>(fn, items, std::make_index_sequence<N>{});
}

inline constexpr int kMapThreads = 256;

inline unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kMapThreads - 1) / kMapThreads);
}

template <class T, class Fn, int N>
void map_on_cuda(const Fn& fn, const Operands<T, N>& operands, const Walk<N + 1>& walk) {
  if (!walk.dense()) {
    map_strided<T, Fn, N><<<blocks_for(walk.count), kMapThreads, 0, current_stream()>>>(fn, operands, walk);
  } else {
    bool aligned = reinterpret_cast<std::uintptr_t>(operands.out) % 16 == 0;
    for (const T* in : operands.in) aligned = aligned && reinterpret_cast<std::uintptr_t>(in) % 16 == 0;
    const std::int64_t packs = aligned ? walk.count / kPack<T> : 0;
    const std::int64_t threads = packs + (walk.count - packs * kPack<T>);
    map_dense<T, Fn, N>
        <<<blocks_for(threads), kMapThreads, 0, current_stream()>>>(fn, operands, packs, walk.count);
  }
  check(cudaGetLastError(), "map");
}

#endif

template <class T, class Fn, int N>
void map_on_host(const Fn& fn, const Operands<T, N>& operands, const Walk<N + 1>& walk) {
  constexpr auto kEach = std::make_index_sequence<N>{};
  const bool dense = walk.dense();
  parallel_for(walk.count, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
    T items[N];
    if (dense) {
      for (std::int64_t i = begin; i < end; ++i) {
        for (int n = 0; n < N; ++n) items[n] = operands.in[n][i];
        operands.out[i] = apply<T>(fn, items, kEach);
      }
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      std::int64_t at[N + 1];
      walk.offsets(i, at);
      for (int n = 0; n < N; ++n) items[n] = operands.in[n][at[n + 1]];
      operands.out[at[0]] = apply<T>(fn, items, kEach);
    }
  });
}

}  // namespace detail

/// out = fn(in...), elementwise; `in` are expanded to the shape of `out` and have its dtype and place.
template <class Fn, class... In>
void map_into(Tensor& out, Fn fn, const In&... in) {
  constexpr int N = sizeof...(In);
  (require<DTypeError>(in.dtype() == out.dtype(), "operands are {} and {}; convert one", out.dtype(),
                       in.dtype()),
   ...);
  (require(in.place() == out.place(), "operands are on {} and {}; move one", name_of(out.place()),
           name_of(in.place())),
   ...);
  const Walk<N + 1> walk = ref::walk(out, in.expand(out.shape())...);
  if (walk.count == 0) return;
  const auto run = [&](auto type) {
    using T = typename decltype(type)::type;
    const detail::Operands<T, N> operands{out.as<T>(), {in.template as<T>()...}};
#if defined(__CUDACC__)
    if (out.place() == Place::cuda) return detail::map_on_cuda(fn, operands, walk);
#endif
    require(out.place() == Place::host, "map was compiled without CUDA; use a .cu file");
    detail::map_on_host(fn, operands, walk);
  };
  if constexpr (std::is_base_of_v<TakesIntegers, Fn>)
    visit_numeric(out.dtype(), "map", run);
  else
    visit_floating(out.dtype(), "map", run);
}

/// A new tensor of fn(in...), elementwise with broadcasting; all operands have one dtype and place.
template <class Fn, class... Rest>
Tensor map(Fn fn, const Tensor& first, const Rest&... rest) {
  Shape shape = first.shape();
  ((shape = broadcast_shape("map", shape, rest.shape())), ...);
  Tensor out = Tensor::empty(std::move(shape), first.dtype(), first.place());
  map_into(out, fn, first, rest...);
  return out;
}

}  // namespace pkb::ref
