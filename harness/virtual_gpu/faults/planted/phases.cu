// SPDX-License-Identifier: Apache-2.0
// A right all-reduce whose warps hand their sums on through shared memory and an mbarrier, which some forms misuse.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(std::uint64_t* barrier, unsigned count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}
__device__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ float tile[kThreads];
  __shared__ std::uint64_t barrier;
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
#if defined(COUNT_TOO_LARGE)
  if (t == 0) init(&barrier, kThreads + 1);  // @COUNT_TOO_LARGE
#elif defined(COUNT_TOO_SMALL)
  if (t == 0) init(&barrier, kThreads / 2);
#elif defined(INIT_BY_LAST_WARP)
  if (t == kThreads - 1) init(&barrier, kThreads);  // @last_warp
#elif !defined(NOT_INITIALISED)
  if (t == 0) init(&barrier, kThreads);  // @init
#endif
#if defined(INIT_BY_LAST_WARP)
  __syncwarp();
#elif defined(ONLY_SOME_MEET)
  if (t < kThreads / 2) asm volatile("barrier.cta.sync 1, %0;" ::"n"(kThreads / 2) : "memory");
#elif !defined(USED_BEFORE_INIT_IS_SEEN)
  __syncthreads();
#endif
  tile[t] = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;  // @store
  arrive(&barrier);  // @arrive
#ifdef INITIALISED_AGAIN
  if (t == 0) init(&barrier, kThreads);  // @again
#endif
#if defined(WAITS_FOR_PHASE_BEFORE)
  wait(&barrier, 1);
#elif defined(TESTS_ONCE)
  asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%0], 0; }" ::"r"(shared_address(&barrier))
               : "memory");
#else
  wait(&barrier, 0);
#endif
#if defined(PARITY_COUNTS_ROUNDS) || defined(PARITY_ALTERNATES)
  for (unsigned round = 1; round < 3; ++round) {
    arrive(&barrier);
#if defined(PARITY_COUNTS_ROUNDS)
    wait(&barrier, round);
#else
    wait(&barrier, round % 2);
#endif
  }
#elif defined(INITIALISED_WHEN_ALL_ARE_DONE)
  __syncthreads();
  if (t == 0) init(&barrier, kThreads);
  __syncthreads();
  arrive(&barrier);
  wait(&barrier, 0);
#endif
  const float opposite = tile[kThreads - 1 - t];  // @load
  const int to = blockIdx.x * blockDim.x + kThreads - 1 - t;
  if (to < count) peers.out[peers.self][to] = static_cast<T>(opposite);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), count);
}
