// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "reference/iteration.h"
#include "reference/parallel.h"
#include "reference/reduce_options.h"
#include "reference/scalar.h"
#include "reference/tensor.h"
#if defined(__CUDACC__)
#include "reference/cuda_check.h"
#include "reference/device.h"
#endif

/// Reductions along dimensions from one functor for host and cuda; for .cu files. The functor has an identity
/// and combines two values of the compute type (float for bf16, fp16 and fp32); TakesIntegers as for `map`:
///
///     struct Sum {
///       template <class F> PKB_HD static F identity() { return 0; }
///       template <class F> PKB_HD F operator()(F a, F b) const { return a + b; }
///     };
namespace pkb::ref {
namespace detail {

/// A tensor as (outer, inner): dimensions that stay and dimensions that go, each a walk over one tensor.
struct ReduceWalk {
  Walk<1> outer, inner;
};

/// Splits `in` and gives the result's shape.
ReduceWalk reduce_walk(const Tensor& in, const std::vector<int>& dimensions, bool keep, Shape& out);

PKB_HD inline std::int64_t offset_of(const Walk<1>& walk, std::int64_t index) {
  std::int64_t at[1];
  walk.offsets(index, at);
  return at[0];
}

/// Combines inner elements [begin, end) as a balanced tree, so that rounding errors grow with its depth only.
template <class T, class Op>
Compute<T> fold(const Op& op, const T* in, const Walk<1>& inner, std::int64_t begin, std::int64_t end) {
  if (end - begin > 64) {
    const std::int64_t middle = begin + (end - begin) / 2;
    return op(fold(op, in, inner, begin, middle), fold(op, in, inner, middle, end));
  }
  auto result = Op::template identity<Compute<T>>();
  for (std::int64_t i = begin; i < end; ++i) result = op(result, load(in[offset_of(inner, i)]));
  return result;
}

#if defined(__CUDACC__)

inline constexpr int kReduceThreads = 256;

/// Block (o, s) reduces slice s of output o's elements to out[o * slices + s]. Reads coalesce along `inner`.
template <class To, class From, class Op>
__global__ void reduce_rows(Op op, To* out, const From* in, ReduceWalk walk, std::int64_t slice) {
  using Number = Compute<From>;
  const std::int64_t output = blockIdx.x, slices = gridDim.y;
  const From* const row = in + offset_of(walk.outer, output);
  const std::int64_t begin = blockIdx.y * slice;
  const std::int64_t end = begin + slice < walk.inner.count ? begin + slice : walk.inner.count;
  Number mine = Op::template identity<Number>();
  for (std::int64_t i = begin + threadIdx.x; i < end; i += kReduceThreads)
    mine = op(mine, load(row[offset_of(walk.inner, i)]));
  __shared__ Number shared[kReduceThreads];
  shared[threadIdx.x] = mine;
  for (int half = kReduceThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] = op(shared[threadIdx.x], shared[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) out[output * slices + blockIdx.y] = store<To>(shared[0]);
}

/// Thread (o, s) does the same alone: reads coalesce along `outer`.
template <class To, class From, class Op>
__global__ void reduce_columns(Op op, To* out, const From* in, ReduceWalk walk, std::int64_t slice) {
  using Number = Compute<From>;
  const std::int64_t output = std::int64_t(blockIdx.x) * kReduceThreads + threadIdx.x, slices = gridDim.y;
  if (output >= walk.outer.count) return;
  const From* const column = in + offset_of(walk.outer, output);
  const std::int64_t begin = blockIdx.y * slice;
  const std::int64_t end = begin + slice < walk.inner.count ? begin + slice : walk.inner.count;
  Number mine = Op::template identity<Number>();
#pragma unroll 8  // loads in flight, which a sum alone would not have
  for (std::int64_t i = begin; i < end; ++i) mine = op(mine, load(column[offset_of(walk.inner, i)]));
  out[output * slices + blockIdx.y] = store<To>(mine);
}

inline bool by_columns(const ReduceWalk& walk) {
  const int last = walk.outer.dims - 1;
  return last >= 0 && walk.outer.strides[0][last] == 1 && walk.outer.extents[last] >= 32;
}

/// Blocks of one slice.
inline std::int64_t reduce_blocks(const ReduceWalk& walk) {
  return by_columns(walk) ? (walk.outer.count + kReduceThreads - 1) / kReduceThreads : walk.outer.count;
}

template <class To, class From, class Op>
void launch_reduce(const Op& op, To* out, const From* in, const ReduceWalk& walk, std::int64_t slices) {
  const std::int64_t slice = (walk.inner.count + slices - 1) / slices;
  const dim3 grid(static_cast<unsigned>(reduce_blocks(walk)), static_cast<unsigned>(slices));
  if (by_columns(walk))
    reduce_columns<<<grid, kReduceThreads, 0, current_stream()>>>(op, out, in, walk, slice);
  else
    reduce_rows<<<grid, kReduceThreads, 0, current_stream()>>>(op, out, in, walk, slice);
  check(cudaGetLastError(), "reduce");
}

template <class T, class Op>
void reduce_on_cuda(const Op& op, T* out, const T* in, const ReduceWalk& walk) {
  // Few outputs with many elements each: cut into slices to fill the chip, then reduce the slices' results. A row's
  // slice is a block's work, a column's is a thread's.
  constexpr std::int64_t kEnoughBlocks = 1024;
  const std::int64_t least_slice = by_columns(walk) ? 32 : 4096;
  const std::int64_t slices = std::min(walk.inner.count / least_slice, kEnoughBlocks / reduce_blocks(walk));
  if (slices <= 1) return launch_reduce<T>(op, out, in, walk, 1);
  using Number = Compute<T>;
  const auto partial = device_allocate(static_cast<std::size_t>(walk.outer.count * slices) * sizeof(Number));
  launch_reduce<Number>(op, static_cast<Number*>(partial.get()), in, walk, slices);
  ReduceWalk rest;
  rest.outer = {1, walk.outer.count, {walk.outer.count}, {{slices}}};
  rest.inner = {1, slices, {slices}, {{1}}};
  launch_reduce<T>(op, out, static_cast<const Number*>(partial.get()), rest, 1);
}

#endif

}  // namespace detail

/// `in` reduced along dimensions, in its dtype; the result is rounded once.
template <class Op>
Tensor reduce(Op op, const Tensor& in, const ReduceOptions& options = {}) {
  Shape shape;
  const detail::ReduceWalk walk = detail::reduce_walk(in, options.dimensions, options.keep, shape);
  Tensor out = Tensor::empty(std::move(shape), in.dtype(), in.place());
  if (out.numel() == 0) return out;
  const auto run = [&](auto type) {
    using T = typename decltype(type)::type;
#if defined(__CUDACC__)
    if (in.place() == Place::cuda) return detail::reduce_on_cuda(op, out.as<T>(), in.as<const T>(), walk);
#endif
    require(in.place() == Place::host, "reduce was compiled without CUDA; use a .cu file");
    parallel_for(
        walk.outer.count, std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, walk.inner.count)),
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t o = begin; o < end; ++o)
            out.as<T>()[o] = store<T>(detail::fold(op, in.as<const T>() + detail::offset_of(walk.outer, o),
                                                   walk.inner, 0, walk.inner.count));
        });
  };
  if constexpr (std::is_base_of_v<TakesIntegers, Op>)
    visit_numeric(in.dtype(), "reduce", run);
  else
    visit_floating(in.dtype(), "reduce", run);
  return out;
}

}  // namespace pkb::ref
