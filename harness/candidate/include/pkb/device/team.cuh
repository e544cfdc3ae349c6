// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pkb/device/order.cuh>

namespace pkb {

/// Threads of one block that work together: all of them, or whole warps. Functions that take a team are
/// called by all of its threads.
struct Team {
  int thread = 0;   ///< number of this one
  int threads = 0;  ///< how many there are: a multiple of 32 unless it is the whole block
  int barrier = 0;  ///< the block's named barrier that the team uses, 0 to 15; 0 is __syncthreads()'

  /// Everything before it, by any thread of the team, happens before everything after it.
  __device__ void sync() const {
    if (barrier == 0)
      __syncthreads();
    else
      asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
};

__device__ inline Team whole_block() {
  return {static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x), 0};
}

/// Part `index` of `count` equal ones: of blocks, for example.
struct Part {
  int index = 0, count = 1;
};

__device__ inline Part this_block() { return {static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x)}; }

/// Splits a one-dimensional block by warps (intra-SM): its first `kCompute` threads call compute(team), the
/// others communicate(team), and all meet behind it. Both share the block's shared memory, so a tile goes
/// from one part to the other by a `HandOver` and without leaving the SM; both also share its registers and
/// issue slots. Named barriers 1 and 2 are taken.
template <int kCompute, class Compute, class Communicate>
__device__ void split_block(Compute&& compute, Communicate&& communicate) {
  static_assert(kCompute % 32 == 0, "a part consists of whole warps");
  const int thread = threadIdx.x;
  if (thread < kCompute)
    compute(Team{thread, kCompute, 1});
  else
    communicate(Team{thread - kCompute, static_cast<int>(blockDim.x) - kCompute, 2});
  __syncthreads();
}

/// Splits a one-dimensional grid by blocks (inter-SM): its first `communicating` blocks call
/// communicate(part), the others compute(part). The communicating blocks come first and so are resident from
/// the start: they may wait for the others, here and on other ranks, though not all of those are resident at
/// once. What compute hands over goes through global memory and `Signals`.
template <class Compute, class Communicate>
__device__ void split_grid(int communicating, Compute&& compute, Communicate&& communicate) {
  const int block = blockIdx.x, blocks = gridDim.x;
  if (block < communicating)
    communicate(Part{block, communicating});
  else
    compute(Part{block - communicating, blocks - communicating});
}

/// One buffer in shared memory that a team of a block fills and another empties, in turns; for more buffers
/// take more of these. In each turn the producer calls acquire, fills and calls publish; the consumer calls
/// await, empties and calls release, after `stores_read` where it empties by `store_async`. Takes named
/// barriers `first` and `first + 1`.
struct HandOver {
  int first = 3;    ///< named barrier, 3 to 14
  int threads = 0;  ///< of both teams together

  /// The buffer is free: `turn` counts from 0, and the first finds it so.
  __device__ void acquire(int turn) const {
    if (turn > 0) wait(first);
  }
  __device__ void publish() const {
    order::fence_shared_for_copies();
    arrive(first + 1);
  }
  __device__ void await() const { wait(first + 1); }
  /// `last`: no further turn will acquire it, and nobody may be left waiting for one.
  __device__ void release(bool last) const {
    if (!last) arrive(first);
  }

 private:
  __device__ void wait(int barrier) const {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
  __device__ void arrive(int barrier) const {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
  }
};

}  // namespace pkb
