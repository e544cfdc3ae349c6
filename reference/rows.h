// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "reference/parallel.h"
#include "reference/scalar.h"
#include "reference/tensor.h"
#if defined(__CUDACC__)
#include "reference/cuda_check.h"
#include "reference/device.h"
#endif

/// Operators on contiguous rows from one functor for host and cuda; for .cu files. The functor is called once
/// per row, by all the threads of a row together, with a `Row` that sums and walks over the row's elements:
///
///     struct Normalise {
///       template <class Row> PKB_HD void operator()(const Row& row, std::int64_t r) const {
///         const float total = row.reduce(count, 0.f, Add{}, [&](std::int64_t i) { return x[r * count + i]; });
///         row.each(count, [&](std::int64_t i) { y[r * count + i] = x[r * count + i] / total; });
///       }
///     };
namespace pkb::ref {

/// One host thread has the row to itself; sums are balanced trees, so that errors grow with their depth only.
struct HostRow {
  template <class F, class Op, class Term>
  PKB_HD F reduce(std::int64_t count, F identity, const Op& op, const Term& term) const {
    return fold(0, count, identity, op, term);
  }
  template <class Fn>
  PKB_HD void each(std::int64_t count, const Fn& fn) const {
    for (std::int64_t i = 0; i < count; ++i) fn(i);
  }
  /// Whether this thread writes what the row has one of.
  PKB_HD bool first() const { return true; }

 private:
  template <class F, class Op, class Term>
  PKB_HD static F fold(std::int64_t begin, std::int64_t end, F identity, const Op& op, const Term& term) {
    if (end - begin > 64) {
      const std::int64_t middle = begin + (end - begin) / 2;
      return op(fold(begin, middle, identity, op, term), fold(middle, end, identity, op, term));
    }
    F result = identity;
    for (std::int64_t i = begin; i < end; ++i) result = op(result, term(i));
    return result;
  }
};

#if defined(__CUDACC__)

/// `kThreads` neighbouring threads share the row: a warp, or a block.
template <int kThreads>
struct CudaRow {
  template <class F, class Op, class Term>
  PKB_HD F reduce(std::int64_t count, F identity, const Op& op, const Term& term) const {
#if defined(__CUDA_ARCH__)
    F mine = identity;
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) mine = op(mine, term(i));
    for (int lane = 16; lane > 0; lane /= 2) mine = op(mine, __shfl_xor_sync(0xffffffffu, mine, lane));
    if constexpr (kThreads > 32) {
      __shared__ F of_warp[kThreads / 32];
      __syncthreads();  // the last reduction has been read
      if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
      __syncthreads();
      mine = of_warp[0];
      for (int warp = 1; warp < kThreads / 32; ++warp) mine = op(mine, of_warp[warp]);
    }
    return mine;
#else
    return identity;
#endif
  }
  template <class Fn>
  PKB_HD void each(std::int64_t count, const Fn& fn) const {
#if defined(__CUDA_ARCH__)
    for (std::int64_t i = threadIdx.x; i < count; i += kThreads) fn(i);
#endif
  }
  PKB_HD bool first() const {
#if defined(__CUDA_ARCH__)
    return threadIdx.x == 0;
#else
    return true;
#endif
  }
};

namespace detail {

template <int kThreads, class Fn>
__global__ void row_kernel(Fn fn, std::int64_t rows) {
  const std::int64_t row = std::int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
  if (row < rows) fn(CudaRow<kThreads>{}, row);
}

}  // namespace detail

#endif

/// fn(row, r) for r in [0, rows); `count` elements per row decide how many threads share one.
template <class Fn>
void for_each_row(Place place, std::int64_t rows, std::int64_t count, const Fn& fn) {
  if (rows == 0) return;
#if defined(__CUDACC__)
  if (place == Place::cuda) {
    if (count <= 1024)
      detail::row_kernel<32><<<static_cast<unsigned>((rows + 7) / 8), dim3(32, 8), 0, current_stream()>>>(fn, rows);
    else
      detail::row_kernel<512><<<static_cast<unsigned>(rows), dim3(512, 1), 0, current_stream()>>>(fn, rows);
    return check(cudaGetLastError(), "rows");
  }
#endif
  require(place == Place::host, "rows was compiled without CUDA; use a .cu file");
  parallel_for(rows, std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, count)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t r = begin; r < end; ++r) fn(HostRow{}, r);
               });
}

}  // namespace pkb::ref
