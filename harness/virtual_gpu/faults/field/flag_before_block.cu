// SPDX-License-Identifier: Apache-2.0
// All-to-all: block d of the grid stores for peer d into its staging area and tells it, then copies what came
// from peer d. The forms differ in what orders the stores of all threads before the flag that thread 0 stores.
#include <pkb/alltoall.h>

#include "peers.cuh"

struct State {
  unsigned ready[kMaxRanks];
  T stage[kMaxRanks][1 << 11];
};
State* here;
unsigned epoch;

__global__ void all_to_all(Peers<State> peers, int count, unsigned epoch) {
  const int peer = blockIdx.x;
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    peers.state[peer]->stage[peers.self][i] = peers.input[peers.self][peer * count + i];  // @store
#if defined(BARRIER)
  __syncthreads();
#elif defined(FENCES_AND_BARRIER)
  __threadfence_system();
  __syncthreads();
#endif
  if (threadIdx.x == 0) {
#ifdef FENCES_AND_BARRIER
    store_relaxed(&peers.state[peer]->ready[peers.self], epoch);
#else
    store_release(&peers.state[peer]->ready[peers.self], epoch);
#endif
    while (!reached(load_acquire(&peers.state[peers.self]->ready[peer]), epoch)) {}
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    peers.out[peers.self][peer * count + i] = peers.state[peers.self]->stage[peer][i];  // @load
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int ranks = ctx.world_size();
  all_to_all<<<ranks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                   static_cast<int>(args.out.numel()) / ranks, ++epoch);
}
