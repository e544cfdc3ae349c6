// SPDX-License-Identifier: Apache-2.0
// All-reduce with an atomic hand-over at each scope, no wider than needed: within the block, between blocks of a
// rank, between ranks. A narrow one followed by a wide one covers both.
#include <pkb/allreduce.h>

#include <cuda/atomic>

#include "peers.cuh"

struct State {
  unsigned blocks, ranks;
  float sum[1 << 14];
};
State* here;
unsigned epoch;

template <cuda::thread_scope scope>
__device__ void arrive(unsigned* counter) {
  cuda::atomic_ref<unsigned, scope>(*counter).fetch_add(1, cuda::std::memory_order_acq_rel);
}
template <cuda::thread_scope scope>
__device__ void await(unsigned* counter, unsigned target) {
  while (!reached(cuda::atomic_ref<unsigned, scope>(*counter).load(cuda::std::memory_order_acquire), target)) {}
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  __shared__ unsigned warps;
  State& own = *peers.state[peers.self];
  const Part mine(count, blockIdx.x, gridDim.x);
  if (threadIdx.x == 0) warps = 0;
  __syncthreads();
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.sum[i] = static_cast<float>(peers.input[peers.self][i]);
  // Warps of the block hand over to warp 0, which counts for the block; the last block counts for the rank.
  __syncwarp();
  if (threadIdx.x % 32 == 0) arrive<cuda::thread_scope_block>(&warps);
  if (threadIdx.x == 0) {
    await<cuda::thread_scope_block>(&warps, blockDim.x / 32);
    arrive<cuda::thread_scope_device>(&own.blocks);
    if (blockIdx.x == 0) {
      await<cuda::thread_scope_device>(&own.blocks, epoch * gridDim.x);
      for (int r = 0; r < peers.count; ++r) arrive<cuda::thread_scope_system>(&peers.state[r]->ranks);
    }
    await<cuda::thread_scope_system>(&own.ranks, epoch * peers.count);
  }
  __syncthreads();
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += peers.state[r]->sum[i];
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
