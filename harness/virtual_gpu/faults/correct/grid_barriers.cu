// SPDX-License-Identifier: Apache-2.0
// All-reduce in two steps on one grid, with a barrier of the grid or of all ranks between them.
#include <pkb/allreduce.h>

#if defined(COOPERATIVE)
#include <cooperative_groups.h>
#elif !defined(FENCES_AND_ATOMICS)
#include <cuda/atomic>
#endif

#include "peers.cuh"

struct State : Meeting {
  unsigned arrived, sense, ticket;
  float sum[1 << 14];
};
State* here;
unsigned epoch;

#if defined(COOPERATIVE)
__device__ void grid_barrier(const Peers<State>&) { cooperative_groups::this_grid().sync(); }
#elif defined(SENSE_REVERSING)
// The last to arrive resets the counter and flips the sense, which the others wait for.
__device__ void grid_barrier(const Peers<State>& peers) {
  State& own = *peers.state[peers.self];
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_device> arrived(own.arrived), sense(own.sense);
    const unsigned before = sense.load(cuda::std::memory_order_relaxed);
    if (arrived.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x - 1) {
      arrived.store(0, cuda::std::memory_order_relaxed);
      sense.store(1 - before, cuda::std::memory_order_release);
    } else {
      while (sense.load(cuda::std::memory_order_acquire) == before) {}
    }
  }
  __syncthreads();
}
#elif defined(SENSE_OF_ALL_RANKS)
// The same over the blocks of all ranks, with the counter on rank 0.
__device__ void grid_barrier(const Peers<State>& peers) {
  State& root = *peers.state[0];
  __syncthreads();
  if (threadIdx.x == 0) {
    cuda::atomic_ref<unsigned, cuda::thread_scope_system> arrived(root.arrived), sense(root.sense);
    const unsigned before = sense.load(cuda::std::memory_order_relaxed);
    if (arrived.fetch_add(1, cuda::std::memory_order_acq_rel) == gridDim.x * peers.count - 1) {
      arrived.store(0, cuda::std::memory_order_relaxed);
      sense.store(1 - before, cuda::std::memory_order_release);
    } else {
      while (sense.load(cuda::std::memory_order_acquire) == before) __nanosleep(64);
    }
  }
  __syncthreads();
}
#else  // FENCES_AND_ATOMICS
// As cooperative groups did it once: fences around a relaxed atomic and a volatile poll.
__device__ void grid_barrier(const Peers<State>& peers) {
  State& own = *peers.state[peers.self];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const unsigned target = (atomicAdd(&own.ticket, 1) / gridDim.x + 1) * gridDim.x;
    while (!reached(*static_cast<volatile unsigned*>(&own.ticket), target)) {}
    __threadfence();
  }
  __syncthreads();
}
#endif

__global__ void all_reduce(Peers<State> peers, int count) {
  State& own = *peers.state[peers.self];
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int i = first; i < count; i += stride) own.sum[i] = static_cast<float>(sum_of_inputs(peers, i));
  grid_barrier(peers);
  for (int i = first; i < count; i += stride) {
    const int other = count - 1 - i;  // mostly another block's
#ifdef SENSE_OF_ALL_RANKS
    const State& from = *peers.state[(peers.self + 1) % peers.count];
#else
    const State& from = own;
#endif
    peers.out[peers.self][other] = static_cast<T>(from.sum[other]);
  }
  grid_barrier(peers);
  // What was read above may be written again after the second barrier.
  for (int i = first; i < count; i += stride) own.sum[i] = 0;
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  auto peers = peers_of(ctx, args.tensor, args.out, here);
  int count = static_cast<int>(args.out.numel());
#ifdef COOPERATIVE
  void* arguments[] = {&peers, &count};
  cudaLaunchCooperativeKernel(all_reduce, dim3(8), dim3(kThreads), arguments, 0, ctx.stream());
#else
  all_reduce<<<8, kThreads, 0, ctx.stream()>>>(peers, count);
#endif
}
