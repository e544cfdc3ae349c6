// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that decides by memory which, in some forms, nobody has written.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  float values[kThreads];
};
State* here;
float* scratch;

__global__ void all_reduce(Peers<State> peers, const float* scratch, int count) {
  __shared__ float tile[kThreads];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float seen = 0;
#if defined(SCRATCH) || defined(HALF_FILLED) || defined(FILLED) || defined(COPIED)
  seen = scratch[threadIdx.x];  // @scratch
#elif defined(SYMMETRIC)
  seen = peers.state[peers.self]->values[threadIdx.x];  // zeroed by contract
#elif defined(OUTPUT)
  if (i < count) seen = static_cast<float>(peers.out[peers.self][i]);  // @OUTPUT
#elif defined(SHARED)
  seen = tile[threadIdx.x];  // @SHARED
#elif defined(SHARED_TAIL) || defined(SHARED_FILLED)
#if defined(SHARED_TAIL)
  if (threadIdx.x < kThreads - 3) tile[threadIdx.x] = 1;
#else
  tile[threadIdx.x] = 1;
#endif
  __syncthreads();
  seen = tile[kThreads - 1 - threadIdx.x];  // @SHARED_TAIL
#endif
  if (i < count) peers.out[peers.self][i] = seen == 1.2345f ? T(0.0f) : sum_of_inputs(peers, i);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  const std::size_t bytes = kThreads * sizeof(float);
  cudaMalloc(&scratch, bytes);
#if defined(HALF_FILLED)
  cudaMemset(scratch, 0, bytes - sizeof(float));
#elif defined(FILLED)
  cudaMemset(scratch, 0, bytes);
#elif defined(COPIED)
  static float zeros[kThreads];
  cudaMemcpy(scratch, zeros, bytes, cudaMemcpyHostToDevice);
#endif
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of(ctx, args.tensor, args.out, here), scratch, count);
}
void teardown(pkb::Context&) { cudaFree(scratch); }
