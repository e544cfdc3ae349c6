// SPDX-License-Identifier: Apache-2.0
// All-reduce by staging, each block with its partners on the other ranks. Forms differ in what orders the ranks.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  unsigned arrived[kBlocks], counter;
  T stage[1 << 14];
};
State* here;
unsigned epoch;

__device__ void count_in(const Peers<State>& peers, unsigned epoch) {
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned* own = &peers.state[peers.self]->arrived[blockIdx.x];
#ifdef COUNTED_ON_DEVICE
    for (int r = 0; r < peers.count; ++r) add_acq_rel_gpu(&peers.state[r]->arrived[blockIdx.x], 1);
    while (!reached(load_acquire_gpu(own), epoch * peers.count)) {}
#else
    for (int r = 0; r < peers.count; ++r) add_release(&peers.state[r]->arrived[blockIdx.x], 1);
    while (!reached(load_acquire(own), epoch * peers.count)) {}
#endif
  }
  __syncthreads();
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    peers.state[peers.self]->stage[i] = peers.input[peers.self][i];  // @stage
#if defined(COUNTER)
  if (threadIdx.x == 0) peers.state[0]->counter += 1;  // @COUNTER
#elif defined(GPU_COUNTER)
  if (threadIdx.x == 0) atomicAdd(&peers.state[0]->counter, 1);  // @GPU_COUNTER
#elif defined(SYSTEM_COUNTER)
  if (threadIdx.x == 0) atomicAdd_system(&peers.state[0]->counter, 1);
#endif
#if defined(COUNTED_ON_DEVICE) || defined(COUNTED_ON_SYSTEM)
  count_in(peers, epoch);
#elif defined(FENCE_ONLY)
  // A fence orders the accesses of one thread; it waits for nobody.
  __threadfence_system();
#elif defined(WRONG_PARTNERS)
  // Every block meets the blocks numbered like it, but reads what another block has staged.
  meet(peers, epoch);
  const Part theirs(count, (blockIdx.x + 1) % gridDim.x, gridDim.x);
  float seen = 0;
  for (int i = theirs.begin + threadIdx.x; i < theirs.end; i += blockDim.x)
    seen += static_cast<float>(peers.state[(peers.self + 1) % peers.count]->stage[i]);  // @WRONG_PARTNERS
  if (seen == 1.2345f) return;
#else
  meet(peers, epoch);
#endif
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.state[r]->stage[i]);  // @sum
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
