// SPDX-License-Identifier: Apache-2.0
// A right all-reduce after, or before, a wait that never ends; or one that only takes long.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  unsigned turn[kMaxRanks];
};
State* here;
unsigned epoch;

__device__ void wait_for(const unsigned* flag, unsigned value) {
  while (!reached(load_acquire(flag), value)) __nanosleep(50);
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  State& next = *peers.state[(peers.self + 1) % peers.count];
  if (threadIdx.x == 0 && blockIdx.x == 0) {
#if defined(CIRCLE)
    // Each waits for the rank before it, and tells the next one only then.
    wait_for(&own.turn[0], epoch);
    store_release(&next.turn[0], epoch);
#elif defined(CHAIN)
    if (peers.self > 0) wait_for(&own.turn[0], epoch);
    if (peers.self < peers.count - 1) store_release(&next.turn[0], epoch);
#elif defined(OTHER_PLACE)
    // Everybody signals at the place of the receiver, and looks at the place of the sender.
    for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->turn[r], epoch);
    for (int r = 0; r < peers.count; ++r) wait_for(&own.turn[r], epoch);
#elif defined(ONE_RANK_LESS)
    for (int r = 0; r < peers.count - 1; ++r) store_release(&peers.state[r]->turn[peers.self], epoch);
    for (int r = 0; r < peers.count; ++r) wait_for(&own.turn[r], epoch);
#elif defined(OFF_BY_ONE)
    for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->turn[peers.self], epoch);
    for (int r = 0; r < peers.count; ++r) wait_for(&own.turn[r], epoch + 1);
#elif defined(SLEEPS_LONG)
    if (peers.self == 1)
      for (int k = 0; k < 2000; ++k) __nanosleep(1000);
    for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->turn[peers.self], epoch);
    for (int r = 0; r < peers.count; ++r) wait_for(&own.turn[r], epoch);
#endif
  }
#if defined(BARRIER_OF_MORE)
  asm volatile("barrier.cta.sync 1, 288;" ::: "memory");  // @BARRIER_OF_MORE
#elif defined(LOCK_IN_LOCK)
  // Blocks 0 and 1 take the same two locks in opposite order, and meet between.
  if (threadIdx.x == 0 && blockIdx.x < 2) {
    unsigned* first = &own.came[0][blockIdx.x];
    unsigned* second = &own.came[0][1 - blockIdx.x];
    while (atomicCAS(first, 0, 1) != 0) {}
    add_acq_rel_gpu(&own.turn[1], 1);
    while (!reached(load_acquire_gpu(&own.turn[1]), 2 * epoch)) {}
    while (atomicCAS(second, 0, 1) != 0) {}
    atomicExch(second, 0);
    atomicExch(first, 0);
  }
#elif defined(LOCK)
  if (threadIdx.x == 0) {
    while (atomicCAS(&own.came[0][0], 0, 1) != 0) {}
    __threadfence();
    own.turn[1] += 1;
    __threadfence();
    atomicExch(&own.came[0][0], 0);
  }
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    peers.out[peers.self][i] = sum_of_inputs(peers, i);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
