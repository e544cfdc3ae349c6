// SPDX-License-Identifier: Apache-2.0
// Accesses to words that order others (PTX ISA, memory consistency model).
#pragma once

#include <cuda_runtime.h>

namespace pkb::order {

/// Adds 1. What this thread did or saw before is visible to whoever reads the sum with an acquire.
__device__ inline void add_release(unsigned* word) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

__device__ inline unsigned load_acquire(const unsigned* word) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory");
  return value;
}

/// Counts the blocks of this GPU: 0, 1, ... `last`, and then from 0 again. The one that gets `last` has seen
/// what the others did before.
__device__ inline unsigned count_up_to(unsigned* word, unsigned last) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(word), "r"(last)
               : "memory");
  return before;
}

/// Returns when `word` has counted to `target`. The difference is taken with sign, so a peer that is already
/// further, or a count that has passed 2^32, does not hold it up.
__device__ inline void wait_until(const unsigned* word, unsigned target) {
  while (static_cast<int>(load_acquire(word) - target) < 0) __nanosleep(20);
}

/// Orders this thread's accesses to shared memory before asynchronous copies that start behind a barrier of
/// the block.
__device__ inline void fence_shared_for_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Orders what this thread has seen of global memory before asynchronous copies that it starts afterwards.
__device__ inline void fence_global_for_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.global;" ::: "memory");
#endif
}

/// Asynchronous copies that this thread has started and committed have been written, not only read.
__device__ inline void wait_for_async_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

}  // namespace pkb::order
