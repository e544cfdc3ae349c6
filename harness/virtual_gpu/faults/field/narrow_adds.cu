// SPDX-License-Identifier: Apache-2.0
// Reduce-scatter by atomic additions into the owner: in the run dtype, which rounds once for each rank in the order
// of arrival, or in fp32 and rounded once in the end. The results of both may differ from run to run in their last
// bits; neither is a fault, since the bound and the audit allow what W - 1 roundings cost.
#include <pkb/reducescatter.h>

#include "peers.cuh"

#ifdef IN_RUN_DTYPE
using Sum = T;
#else
using Sum = float;
#endif

struct State : Meeting {
  Sum sum[1 << 13];
};
State* here;
unsigned epoch;

// A 16-bit addition needs no neighbour, so it works at any element.
__device__ void add(Sum* at, T value) {
#ifdef IN_RUN_DTYPE
  asm volatile("red.relaxed.sys.global.add.noftz.bf16 [%0], %1;" ::"l"(at),
               "h"(*reinterpret_cast<const unsigned short*>(&value))
               : "memory");
#else
  atomicAdd_system(at, static_cast<float>(value));
#endif
}

__global__ void reduce_scatter(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  Sum* own = peers.state[peers.self]->sum;
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) own[i] = static_cast<Sum>(0.0f);
  meet(peers, 2 * epoch - 1);
  for (int r = 0; r < peers.count; ++r)
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      add(&peers.state[r]->sum[i], peers.input[peers.self][r * count + i]);
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
