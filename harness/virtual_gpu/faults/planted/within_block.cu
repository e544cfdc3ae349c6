// SPDX-License-Identifier: Apache-2.0
// A right all-reduce whose sums pass from thread to thread of a warp or of a block through shared memory.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};

__device__ float shared_sum(float value, float* tile) {
  const int t = threadIdx.x;
#if defined(WARP) || defined(WARP_SYNCHRONISED)
  // Each lane takes its neighbour's value and gives it back.
  tile[t] = value;  // @warp_store
#ifdef WARP_SYNCHRONISED
  __syncwarp();
#endif
  const float neighbour = tile[t ^ 1];  // @warp_load
  return __shfl_xor_sync(~0u, neighbour, 1);
#elif defined(WARP_OVERWRITTEN) || defined(WARP_TWICE_SYNCHRONISED)
  float back = 0;
  for (int round = 0; round < 2; ++round) {
    tile[t] = round == 0 ? 0 : value;  // @again
    __syncwarp();
    back += tile[t ^ 1];  // @before
#ifdef WARP_TWICE_SYNCHRONISED
    __syncwarp();
#endif
  }
  return __shfl_xor_sync(~0u, back, 1);
#elif defined(WARP_TREE) || defined(WARP_TREE_SYNCHRONISED)
  // A tree over each warp, as written before warps had independent threads.
  tile[t] = 1;
  __syncwarp();
  for (int width = 16; width > 0; width /= 2) {
    if (t % 32 < width) tile[t] += tile[t + width];  // @tree
#ifdef WARP_TREE_SYNCHRONISED
    __syncwarp();
#endif
  }
  __syncwarp();
  return tile[t / 32 * 32] == 32 ? value : value + 0;
#elif defined(WARP_SAME_WORD) || defined(WARP_ELECTED)
#ifdef WARP_ELECTED
  if (t % 32 == 0)
#endif
    tile[t / 32] = static_cast<float>(t);  // @same_word
  __syncwarp();
  return tile[t / 32] < 0 ? 0 : value;
#elif defined(BLOCK) || defined(BLOCK_SYNCHRONISED)
  tile[t] = value;  // @block_store
#ifdef BLOCK_SYNCHRONISED
  __syncthreads();
#else
  __syncwarp();
#endif
  const float opposite = tile[kThreads - 1 - t];  // @block_load
  __syncthreads();
  tile[t] = opposite;
  __syncthreads();
  return tile[kThreads - 1 - t];
#elif defined(BLOCK_OVERWRITTEN) || defined(BLOCK_TWICE_SYNCHRONISED)
  float back = 0;
  for (int round = 0; round < 2; ++round) {
    tile[t] = value + static_cast<float>(round);  // @refill
    __syncthreads();
    back += tile[(t + 32) % kThreads];  // @earlier
#ifdef BLOCK_TWICE_SYNCHRONISED
    __syncthreads();
#endif
  }
  return back == 1.2345f ? 0 : value;
#elif defined(BLOCK_COUNTER) || defined(BLOCK_ATOMIC_COUNTER)
  auto* counter = reinterpret_cast<unsigned*>(tile);
  if (t == 0) *counter = 0;
  __syncthreads();
#ifdef BLOCK_COUNTER
  if (t % 32 == 0) *counter += 1;  // @counter
#else
  if (t % 32 == 0) atomicAdd(counter, 1);
#endif
  __syncthreads();
  return *counter > 1000 ? 0 : value;
#elif defined(NAMED_BARRIER_OF_OTHERS) || defined(NAMED_BARRIER)
  // The first half of the block hands its values to the second. Both must come to the same barrier.
  if (t < kThreads / 2) {
    tile[t] = value;  // @give
    asm volatile("barrier.cta.arrive 1, 256;" ::: "memory");
  } else {
#ifdef NAMED_BARRIER
    asm volatile("barrier.cta.sync 1, 256;" ::: "memory");
#else
    asm volatile("barrier.cta.sync 2, 128;" ::: "memory");
#endif
    if (tile[t - kThreads / 2] == 1.2345f) value = 0;  // @take
  }
#ifndef NAMED_BARRIER
  asm volatile("" ::: "memory");
#endif
  return value;
#endif
}

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ float tile[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = shared_sum(i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0, tile);
  if (i < count) peers.out[peers.self][i] = static_cast<T>(sum);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), count);
}
