// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter by atomic additions into the owner's accumulators, which must start from a known value. The
// forms differ in what lies between that and the first addition.
#include <pkb/reducescatter.h>

#include "peers.cuh"

struct State : Meeting {
  float sum[1 << 13];
};
State* here;
unsigned epoch;

__device__ void add(float* at, T value) { atomicAdd_system(at, static_cast<float>(value)); }

__global__ void reduce_scatter(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  const T* input = peers.input[peers.self];
  float* own = peers.state[peers.self]->sum;
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
#ifdef OWN_TERM_FIRST
    own[i] = static_cast<float>(input[peers.self * count + i]);
#else
    own[i] = 0;  // @clear
#endif
#ifndef NO_BARRIER
  meet(peers, 2 * epoch - 1);
#endif
  for (int r = 0; r < peers.count; ++r) {
#ifdef OWN_TERM_FIRST
    if (r == peers.self) continue;
#endif
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      add(&peers.state[r]->sum[i], input[r * count + i]);  // @add
  }
  meet(peers, 2 * epoch);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    peers.out[peers.self][i] = static_cast<T>(own[i]);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  reduce_scatter<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                         static_cast<int>(args.out.numel()), ++epoch);
}
