// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce whose barrier arrives by a reduction on the multicast address of a counter and polls its
// ordinary address. That is one memory under two addresses; the forms differ in the fence between the two.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned arrived[kBlocks];
  T stage[1 << 14];
};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, State* everywhere, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.stage[i] = peers.input[peers.self][i];
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("multimem.red.release.sys.global.add.u32 [%0], 1;" ::"l"(&everywhere->arrived[blockIdx.x])
                 : "memory");  // @arrive
#ifdef ALIAS_FENCE
    asm volatile("fence.proxy.alias;" ::: "memory");
#endif
    while (!reached(load_acquire(&own.arrived[blockIdx.x]), epoch * peers.count)) {}  // @poll
  }
  __syncthreads();
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.state[r]->stage[i]);
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  auto* everywhere = static_cast<State*>(ctx.multicast(here));
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here), everywhere,
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
