// SPDX-License-Identifier: Apache-2.0
// All-gather: all blocks push their part into the peers' staging areas, then each block copies its part of what
// came from every peer. The forms differ in who says that a rank's parts are there.
#include <pkb/allgather.h>

#include "peers.cuh"

struct State {
  unsigned blocks;
  unsigned ready[kBlocks][kMaxRanks];
  T stage[kMaxRanks][1 << 13];
};
State* here;
unsigned epoch;

__global__ void all_gather(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  State& own = *peers.state[peers.self];
  for (int r = 0; r < peers.count; ++r)
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      peers.state[r]->stage[peers.self][i] = peers.input[peers.self][i];  // @store
  __syncthreads();
  if (threadIdx.x == 0) {
#if defined(FIRST_BLOCK)
    const bool speaks = blockIdx.x == 0;
#elif defined(LAST_BLOCK)
    const bool speaks = add_acq_rel_gpu(&own.blocks, 1) == epoch * gridDim.x - 1;
#else  // EACH_BLOCK
    const bool speaks = true;
#endif
#ifdef EACH_BLOCK
    const int flag = blockIdx.x;
#else
    const int flag = 0;
#endif
    if (speaks)
      for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->ready[flag][peers.self], epoch);
    for (int r = 0; r < peers.count; ++r)
      while (!reached(load_acquire(&own.ready[flag][r]), epoch)) {}
  }
  __syncthreads();
  for (int r = 0; r < peers.count; ++r)
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      peers.out[peers.self][r * count + i] = own.stage[r][i];  // @load
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_gather<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.tensor.numel()), ++epoch);
}
