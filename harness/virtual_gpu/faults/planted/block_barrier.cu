// SPDX-License-Identifier: Apache-2.0
// A right all-reduce with a block barrier that not all threads of a warp come to in the same way.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ float tile[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef EXITS_EARLY
  // Who has left is not waited for.
  if (i >= count) return;
#endif
  const float sum = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;
  tile[threadIdx.x] = sum;
#if defined(PART_OF_A_WARP)
  if (threadIdx.x < kThreads - 16)
    __syncthreads();  // @PART_OF_A_WARP
  else
    tile[threadIdx.x] = sum + 0.0f;
#elif defined(ONE_LANE)
  if (threadIdx.x % 32 == 0) __syncthreads();  // @ONE_LANE
#elif defined(ROUNDS_BY_THREAD)
  for (int round = 0; round <= (threadIdx.x & 1); ++round) __syncthreads();  // @ROUNDS_BY_THREAD
#elif defined(DATA_DEPENDENT)
  while (__float_as_uint(sum) & 0x10000 & threadIdx.x << 16) {
    __syncthreads();  // @DATA_DEPENDENT
    break;
  }
#elif defined(ROUNDS_BY_BLOCK)
  for (int round = 0; round <= (blockIdx.x & 1); ++round) __syncthreads();
#else
  __syncthreads();
#endif
  if (i < count) peers.out[peers.self][i] = static_cast<T>(tile[threadIdx.x]);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), count);
}
