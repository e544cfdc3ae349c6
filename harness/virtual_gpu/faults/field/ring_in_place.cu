// SPDX-License-Identifier: Apache-2.0
// All-reduce by a ring of whole blocks: each step sends a block to the next rank and adds what the previous one
// sent. The forms differ in what a step after the first forwards. Sums in fp64 are exact here, so that their order
// is the same to all ranks.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned ready[kBlocks][kMaxRanks];  // by step
  double received[kMaxRanks][1 << 14], sum[1 << 14];
};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  State& own = *peers.state[peers.self];
  State& next = *peers.state[(peers.self + 1) % peers.count];
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.sum[i] = static_cast<float>(peers.input[peers.self][i]);
  for (int step = 0; step < peers.count - 1; ++step) {
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
#ifdef FORWARDS_SUM
      next.received[step][i] = own.sum[i];
#else
      next.received[step][i] = step == 0 ? own.sum[i] : own.received[step - 1][i];
#endif
    __syncthreads();
    if (threadIdx.x == 0) {
      store_release(&next.ready[blockIdx.x][step], epoch);
      while (!reached(load_acquire(&own.ready[blockIdx.x][step]), epoch)) {}
    }
    __syncthreads();
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) own.sum[i] += own.received[step][i];
  }
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    peers.out[peers.self][i] = static_cast<T>(own.sum[i]);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
