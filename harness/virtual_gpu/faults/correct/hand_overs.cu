// SPDX-License-Identifier: Apache-2.0
// All-reduce with the ways in which blocks of a rank hand over work: the last one to finish, a chain of
// read-modify-writes, a queue of tasks, warps that aggregate their atomics.
#include <pkb/allreduce.h>

#ifdef CHAIN_OF_ADDITIONS
#include <cuda/atomic>
#endif

#include "peers.cuh"

struct State {
  unsigned count, next, places;
  float sum[1 << 14];
};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  const Part mine(count, blockIdx.x, gridDim.x);
#if defined(LAST_BLOCK)
  // The pattern of the threadFenceReduction sample: every thread fences, one counts, the last block reads all.
  __shared__ bool is_last;
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.sum[i] = static_cast<float>(sum_of_inputs(peers, i));
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) is_last = atomicInc(&own.count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  for (int i = threadIdx.x; i < count; i += blockDim.x) peers.out[peers.self][i] = static_cast<T>(own.sum[i]);
#elif defined(CHAIN_OF_ADDITIONS)
  // The first block releases, the others add without any order of their own, and the last one to add acquires: a
  // chain of read-modify-writes carries the release on.
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> counter(own.count);
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) own.sum[i] = static_cast<float>(sum_of_inputs(peers, i));
    __syncthreads();
    if (threadIdx.x == 0) counter.fetch_add(1, cuda::std::memory_order_release);
  } else if (blockIdx.x < gridDim.x - 1) {
    if (threadIdx.x == 0) counter.fetch_add(1, cuda::std::memory_order_relaxed);
  } else {
    if (threadIdx.x == 0)
      while (!reached(counter.load(cuda::std::memory_order_acquire), epoch * (gridDim.x - 1))) {}
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) peers.out[peers.self][i] = static_cast<T>(own.sum[i]);
  }
#elif defined(QUEUE_OF_TASKS)
  __shared__ unsigned task;
  const unsigned tasks = (count + blockDim.x - 1) / blockDim.x;
  for (;;) {
    if (threadIdx.x == 0) task = atomicAdd(&own.next, 1);
    __syncthreads();
    const unsigned at = task * blockDim.x + threadIdx.x;
    const bool ended = task >= tasks;
    __syncthreads();
    if (ended) break;
    if (at < count) peers.out[peers.self][at] = sum_of_inputs(peers, at);
  }
  // The last block to see the end puts the queue back.
  if (threadIdx.x == 0 && add_acq_rel_gpu(&own.count, 1) == epoch * gridDim.x - 1) own.next = 0;
#elif defined(AGGREGATED)
  // Each warp takes as many places as it has active lanes; a place is an element.
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    const unsigned active = __activemask(), lane = threadIdx.x % 32, leader = __ffs(active) - 1;
    unsigned place = 0;
    if (lane == leader) place = atomicAdd(&own.places, __popc(active));
    place = __shfl_sync(active, place, leader) + __popc(active & ((1u << lane) - 1));
    const int at = place - (epoch - 1) * count;
    peers.out[peers.self][at] = sum_of_inputs(peers, at);
  }
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
