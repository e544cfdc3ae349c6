// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce whose threads exchange a tile through shared memory. The forms differ in where the block
// barrier stands: one in each arm of a branch that splits every warp, named barriers for a split by warps, or one
// where the arms have joined.
#include <pkb/gemm_allreduce.h>

#include "peers.cuh"
#include "product.cuh"

struct State : Meeting {
  float partial[1 << 13];
};
State* here;
unsigned epoch;

__global__ void multiply(Peers<State> peers, const T* b, Shape shape) {
  __shared__ float tile[kThreads];
  const int at = blockIdx.x * kThreads + threadIdx.x;
  const bool exists = at < shape.count();
#ifdef SPLIT_BY_WARP
  const bool odd = threadIdx.x / 32 & 1;
#else
  const bool odd = threadIdx.x & 1;
#endif
  const float value = exists ? element_of_product(peers.input[peers.self], b, shape, at) : 0;
  if (odd) {
    tile[threadIdx.x] = value;
#if defined(SPLIT_BY_WARP)
    asm volatile("barrier.cta.sync 1, 256;" ::: "memory");
#elif !defined(AFTER_JOIN)
    __syncthreads();  // @odd
#endif
  } else {
    tile[threadIdx.x] = exists ? value : 0;
#if defined(SPLIT_BY_WARP)
    asm volatile("barrier.cta.sync 1, 256;" ::: "memory");
#elif !defined(AFTER_JOIN)
    __syncthreads();  // @even
#endif
  }
#ifdef AFTER_JOIN
  __syncthreads();
#endif
  // Threads store each other's elements, in reverse.
  const int other = kThreads - 1 - threadIdx.x, to = blockIdx.x * kThreads + other;
  if (to < shape.count()) peers.state[peers.self]->partial[to] = tile[other];
}

__global__ void reduce(Peers<State> peers, int count, unsigned epoch) {
  meet(peers, epoch);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += peers.state[r]->partial[i];
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const Shape shape = shape_of(args);
  const auto peers = peers_of(ctx, args.A_local, args.C, here);
  multiply<<<(shape.count() + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(peers, args.B_local.as<T>(),
                                                                                     shape);
  reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, shape.count(), ++epoch);
}
