// SPDX-License-Identifier: Apache-2.0
// All-reduce whose threads exchange their sums within a warp, a block or a cluster by means other than a plain block
// barrier.
#include <pkb/allreduce.h>

#if defined(CLUSTER) || defined(TILES_OF_WARPS)
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#endif

#include "peers.cuh"

struct State {};

#ifdef CLUSTER
__global__ void __cluster_dims__(2, 1, 1) all_reduce(Peers<State> peers, int count) {
#else
__global__ void all_reduce(Peers<State> peers, int count) {
#endif
  __shared__ float tile[kThreads];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const float sum = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;
  float back = 0;
  int to = i;
#if defined(CLUSTER)
  // Each block reads what the other one of its pair has in shared memory; nobody leaves before it was read.
  const auto cluster = cg::this_cluster();
  tile[t] = sum;
  cluster.sync();
  back = *cluster.map_shared_rank(&tile[t], cluster.block_rank() ^ 1);
  to = (blockIdx.x ^ 1) * blockDim.x + t;
  cluster.sync();
#elif defined(TILES_OF_WARPS)
  const auto tiles = cg::tiled_partition<16>(cg::this_thread_block());
  tile[t] = sum;
  tiles.sync();
  back = tile[t ^ 5];
  tiles.sync();
  tile[t] = back;
  tiles.sync();
  back = tile[t ^ 5];
#elif defined(BARRIER_THAT_COUNTS)
  tile[t] = sum;
  const int positive = __syncthreads_count(sum > 0);
  back = positive <= kThreads ? tile[kThreads - 1 - t] : 0;
  to = blockIdx.x * blockDim.x + kThreads - 1 - t;
#elif defined(HALF_OF_A_WARP)
  // Lanes of a half synchronise among themselves, in code that the other half does not run.
  tile[t] = 0;
  if (t % 32 < 16) {
    tile[t] = sum;
    __syncwarp(0xffff);
    back = tile[t ^ 3];
    __syncwarp(0xffff);
    tile[t] = back;
    __syncwarp(0xffff);
    back = tile[t ^ 3];
  } else {
    back = sum;
  }
#elif defined(VOLATILE_FLAG)
  // A warp waits for another by a volatile flag in shared memory, with fences of the block.
  __shared__ unsigned flag;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t >= 32 && t < 64) {
    tile[t] = 1;
    __syncwarp();
    if (t == 32) {
      __threadfence_block();
      *static_cast<volatile unsigned*>(&flag) = 1;
    }
  }
  if (t < 32) {
    if (t == 0) {
      while (*static_cast<volatile unsigned*>(&flag) == 0) {}
      __threadfence_block();
    }
    __syncwarp();
    back = tile[t + 32] == 1 ? sum : 0;
  } else {
    back = sum;
  }
#elif defined(LANE_WAITS_FOR_LANE)
  // Forward progress of diverged threads: one lane waits for another of its warp.
  __shared__ unsigned flag[kThreads / 32];
  if (t % 32 == 0) flag[t / 32] = 0;
  __syncwarp();
  if (t % 32 == 3) {
    while (atomicAdd(&flag[t / 32], 0) == 0) {}
    back = sum;
  } else {
    if (t % 32 == 17) atomicExch(&flag[t / 32], 1);
    back = sum;
  }
#endif
  if (to < count) peers.out[peers.self][to] = static_cast<T>(back);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kThreads - 1) / kThreads;
  all_reduce<<<(blocks + 1) / 2 * 2, kThreads, 0, ctx.stream()>>>(peers_of<State>(ctx, args.tensor, args.out, nullptr),
                                                                  count);
}
