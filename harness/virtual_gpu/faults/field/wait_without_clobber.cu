// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce. The acquiring poll is inline assembly; without the clobber the compiler does not know that
// it orders memory, and may take a load that follows from before it; MOVED is what the compiler may make of it.
#include <pkb/gemm_allreduce.h>

#include "peers.cuh"
#include "product.cuh"

struct State {
  unsigned ready[kBlocks][kMaxRanks];
  float partial[1 << 13];
};
State* here;
unsigned epoch;

__device__ unsigned poll(const unsigned* flag) {
  unsigned value;
  const auto address = reinterpret_cast<unsigned long long>(flag);
#if defined(CLOBBER) || defined(MOVED)
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address) : "memory");
#else
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(address));
#endif
  return value;
}

__global__ void gemm_all_reduce(Peers<State> peers, const T* b, Shape shape, unsigned epoch) {
  const Part mine(shape.count(), blockIdx.x, gridDim.x);
  State& own = *peers.state[peers.self];
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.partial[i] = element_of_product(peers.input[peers.self], b, shape, i);
  __syncthreads();
  if (threadIdx.x < peers.count)
    store_release(&peers.state[threadIdx.x]->ready[blockIdx.x][peers.self], epoch);
  // Every thread polls for itself, so that nothing but the poll stands before its loads.
  const int first = mine.begin + threadIdx.x;
#ifdef MOVED
  float sum = first < mine.end ? peers.state[0]->partial[first] : 0;  // @moved
#endif
  for (int r = 0; r < peers.count; ++r)
    while (!reached(poll(&own.ready[blockIdx.x][r]), epoch)) {}
#ifndef MOVED
  float sum = first < mine.end ? peers.state[0]->partial[first] : 0;  // @load
#endif
  for (int i = first; i < mine.end; i += blockDim.x) {
    if (i != first) sum = peers.state[0]->partial[i];
    for (int r = 1; r < peers.count; ++r) sum += peers.state[r]->partial[i];
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  gemm_all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.A_local, args.C, here),
                                                          args.B_local.as<T>(), shape_of(args), ++epoch);
}
