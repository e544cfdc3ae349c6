// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "reference/parallel.h"
#include "reference/scalar.h"
#include "reference/tensor.h"
#if defined(__CUDACC__)
#include "reference/cuda_check.h"
#include "reference/device.h"
#endif

/// One functor called for each index, on host or cuda; for .cu files. What `map` and `reduce` cannot say.
namespace pkb::ref {

#if defined(__CUDACC__)
namespace detail {

template <class Fn>
__global__ void loop_kernel(Fn fn, std::int64_t count) {
  const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) fn(i);
}

}  // namespace detail
#endif

/// fn(i) for i in [0, count), in any order and at once: two calls must not write the same element.
template <class Fn>
void loop(Place place, std::int64_t count, const Fn& fn) {
  if (count == 0) return;
#if defined(__CUDACC__)
  if (place == Place::cuda) {
    constexpr int kThreads = 256;
    detail::loop_kernel<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0,
                          current_stream()>>>(fn, count);
    return check(cudaGetLastError(), "loop");
  }
#endif
  require(place == Place::host, "loop was compiled without CUDA; use a .cu file");
  parallel_for(count, 1 << 14, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

}  // namespace pkb::ref
