// SPDX-License-Identifier: Apache-2.0
// All-gather by stores. The last block to finish tells every peer; the forms differ in the scope of that flag.
// The counter of the rank's own blocks needs no more than the scope of a GPU.
#include <pkb/allgather.h>

#include "peers.cuh"

struct State {
  unsigned blocks;
  unsigned ready[kMaxRanks];
};
State* here;
unsigned epoch;

__global__ void all_gather(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int r = 0; r < peers.count; ++r)
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      peers.out[r][peers.self * count + i] = peers.input[peers.self][i];
  __syncthreads();
  if (threadIdx.x != 0) return;
  State& own = *peers.state[peers.self];
  if (add_acq_rel_gpu(&own.blocks, 1) != epoch * gridDim.x - 1) return;
  for (int r = 0; r < peers.count; ++r)
#if defined(GPU_RELEASE) || defined(GPU_BOTH)
    store_release_gpu(&peers.state[r]->ready[peers.self], epoch);
#else
    store_release(&peers.state[r]->ready[peers.self], epoch);
#endif
  for (int r = 0; r < peers.count; ++r)
#if defined(GPU_ACQUIRE) || defined(GPU_BOTH)
    while (!reached(load_acquire_gpu(&own.ready[r]), epoch)) {}
#else
    while (!reached(load_acquire(&own.ready[r]), epoch)) {}
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_gather<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.tensor.numel()), ++epoch);
}
