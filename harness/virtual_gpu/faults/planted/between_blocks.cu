// SPDX-License-Identifier: Apache-2.0
// A right all-reduce whose first block sums for the second one to store, or whose blocks count themselves. Forms
// differ in what orders the blocks.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned flag, count;
  float sum[1 << 14];
};
State* here;
unsigned epoch;

__device__ void tell(unsigned* flag, unsigned epoch) {
#if defined(PLAIN_FLAG)
  *flag = epoch;  // @PLAIN_FLAG
#elif defined(VOLATILE_FLAG) || defined(NO_READER_FENCE)
#ifdef NO_READER_FENCE
  __threadfence();
#endif
  *static_cast<volatile unsigned*>(flag) = epoch;
#elif defined(RELAXED_ATOMIC)
  atomicExch(flag, epoch);
#elif defined(BLOCK_RELEASE)
  asm volatile("st.release.cta.global.u32 [%0], %1;" ::"l"(flag), "r"(epoch) : "memory");
#elif defined(VOLATILE_AND_FENCES)
  __threadfence();
  *static_cast<volatile unsigned*>(flag) = epoch;
#else
  store_release_gpu(flag, epoch);
#endif
}
__device__ void await(unsigned* flag, unsigned epoch) {
#if defined(PLAIN_FLAG)
  while (!reached(atomicAdd(flag, 0), epoch)) {}
  __threadfence();
#elif defined(VOLATILE_FLAG) || defined(NO_READER_FENCE)
  while (!reached(*static_cast<volatile unsigned*>(flag), epoch)) {}
#elif defined(RELAXED_ATOMIC)
  while (!reached(atomicAdd(flag, 0), epoch)) {}
#elif defined(BLOCK_RELEASE)
  unsigned value;
  do asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  while (!reached(value, epoch));
#elif defined(VOLATILE_AND_FENCES)
  while (!reached(*static_cast<volatile unsigned*>(flag), epoch)) {}
  __threadfence();
#else
  while (!reached(load_acquire_gpu(flag), epoch)) {}
#endif
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  if (blockIdx.x == 0) {
    for (int i = threadIdx.x; i < count; i += blockDim.x)
      own.sum[i] = static_cast<float>(sum_of_inputs(peers, i));  // @store
    __syncthreads();
    if (threadIdx.x == 0) tell(&own.flag, epoch);
  } else {
#ifndef NO_FLAG
    if (threadIdx.x == 0) await(&own.flag, epoch);
#endif
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
#ifdef NO_FLAG
      if (own.sum[i] == 1.2345f) continue;  // @NO_FLAG
      peers.out[peers.self][i] = sum_of_inputs(peers, i);
#else
      peers.out[peers.self][i] = static_cast<T>(own.sum[i]);  // @load
#endif
    }
  }
#if defined(COUNTER)
  if (threadIdx.x == 0) own.count += 1;  // @COUNTER
#elif defined(BLOCK_COUNTER)
  if (threadIdx.x == 0) atomicAdd_block(&own.count, 1);  // @BLOCK_COUNTER
#elif defined(ATOMIC_COUNTER)
  if (threadIdx.x == 0) atomicAdd(&own.count, 1);
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<2, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                               static_cast<int>(args.out.numel()), ++epoch);
}
