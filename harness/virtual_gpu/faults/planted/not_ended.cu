// SPDX-License-Identifier: Apache-2.0
// All-reduce by pushes into the peers' outputs. A rank's kernels must not end while a peer may
// still write to it; forms differ in whom they wait for.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part slice(count, peers.self, peers.count), mine(slice.end - slice.begin, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    for (int r = 0; r < peers.count; ++r)
      peers.out[r][slice.begin + i] = sum_of_inputs(peers, slice.begin + i);  // @push
#if defined(STORES_ONCE_MORE)
  // What is stored after the meeting is the same, but comes at any time.
  meet(peers, epoch);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    peers.out[(peers.self + 1) % peers.count][slice.begin + i] = sum_of_inputs(peers, slice.begin + i);  // @again
#elif defined(WAITS_FOR_NEXT_ONLY)
  __syncthreads();
  if (threadIdx.x == 0) {
    const int next = (peers.self + 1) % peers.count;
    for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->came[blockIdx.x][peers.self], epoch);
    while (!reached(load_acquire(&peers.state[peers.self]->came[blockIdx.x][next]), epoch)) {}
  }
#elif defined(TELLS_BUT_DOES_NOT_WAIT)
  __syncthreads();
  if (threadIdx.x < peers.count)
    store_release(&peers.state[threadIdx.x]->came[blockIdx.x][peers.self], epoch);
#elif defined(MEETS)
  meet(peers, epoch);
#endif  // otherwise NO_FLAG
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
