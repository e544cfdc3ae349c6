// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce through a staging copy. What orders the copy before the peers' loads is only the
// handshake; the forms differ in its memory order.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned ready[kBlocks][kMaxRanks];
  T stage[1 << 14];
};
State* here;
unsigned epoch;

__device__ void tell(unsigned* flag, unsigned value) {
#if defined(ACQUIRE_RELEASE)
  store_release(flag, value);
#elif defined(RELAXED_AND_FENCES)
  __threadfence_system();
  store_relaxed(flag, value);
#elif defined(RELAXED)
  store_relaxed(flag, value);
#else  // VOLATILE_AND_FENCES, FENCE_OF_BLOCK
  __threadfence_system();
  *static_cast<volatile unsigned*>(flag) = value;
#endif
}

__device__ void wait_for(const unsigned* flag, unsigned value) {
#if defined(ACQUIRE_RELEASE)
  while (!reached(load_acquire(flag), value)) {}
#elif defined(RELAXED_AND_FENCES)
  while (!reached(load_relaxed(flag), value)) {}
  __threadfence_system();
#elif defined(RELAXED)
  while (!reached(load_relaxed(flag), value)) {}
#else
  while (!reached(*static_cast<const volatile unsigned*>(flag), value)) {}
#ifdef FENCE_OF_BLOCK
  __threadfence_block();
#else
  __threadfence_system();
#endif
#endif
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
#ifndef INPUTS_DIRECTLY
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    peers.state[peers.self]->stage[i] = peers.input[peers.self][i];  // @stage
  __syncthreads();
  if (threadIdx.x < peers.count) {
    tell(&peers.state[threadIdx.x]->ready[blockIdx.x][peers.self], epoch);
    wait_for(&peers.state[peers.self]->ready[blockIdx.x][threadIdx.x], epoch);
  }
  __syncthreads();
#endif
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
#ifdef INPUTS_DIRECTLY
      sum += static_cast<float>(peers.input[r][i]);
#else
      sum += static_cast<float>(peers.state[r]->stage[i]);  // @sum
#endif
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
