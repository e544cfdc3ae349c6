// SPDX-License-Identifier: Apache-2.0
// All-reduce in tiles through two shared stages that warps of one kind fill and warps of the other empty.
#include <pkb/allreduce.h>

#ifndef NAMED_BARRIERS
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#endif

#include "peers.cuh"

struct State {
  alignas(16) float sum[1 << 14];
};
State* here;
constexpr int kHalf = kThreads / 2, kStages = 2;

// What the pipelines copy: the own sums, in whole tiles.
__global__ void prepare(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  peers.state[peers.self]->sum[i] = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;
}

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ alignas(16) float stage[kStages][kHalf];
  const float* sums = peers.state[peers.self]->sum;
  T* out = peers.out[peers.self];
  const int tiles = (count + kHalf - 1) / kHalf;
#if defined(NAMED_BARRIERS)
  // Barriers 1 and 2 say that a stage is full, 3 and 4 that it is empty.
  const int t = threadIdx.x % kHalf;
  if (threadIdx.x < kHalf) {
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
      if (n >= kStages) asm volatile("barrier.cta.sync %0, 256;" ::"r"(3 + n % kStages) : "memory");
      stage[n % kStages][t] = sums[tile * kHalf + t];
      asm volatile("barrier.cta.arrive %0, 256;" ::"r"(1 + n % kStages) : "memory");
    }
  } else {
    int mine = 0;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) ++mine;
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
      asm volatile("barrier.cta.sync %0, 256;" ::"r"(1 + n % kStages) : "memory");
      const int at = tile * kHalf + t;
      if (at < count) out[at] = static_cast<T>(stage[n % kStages][t]);
      if (n + kStages < mine) asm volatile("barrier.cta.arrive %0, 256;" ::"r"(3 + n % kStages) : "memory");
    }
  }
#elif defined(BARRIERS_OF_LIBCUXX)
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(Barrier) char room[2 * kStages * sizeof(Barrier)];
  auto* full = reinterpret_cast<Barrier*>(room);
  auto* empty = full + kStages;
  if (threadIdx.x < kStages) {
    init(full + threadIdx.x, blockDim.x);
    init(empty + threadIdx.x, blockDim.x);
  }
  __syncthreads();
  const int t = threadIdx.x % kHalf;
  if (threadIdx.x < kHalf) {
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
      empty[n % kStages].arrive_and_wait();
      stage[n % kStages][t] = sums[tile * kHalf + t];
      (void)full[n % kStages].arrive();
    }
  } else {
    for (int n = 0; n < kStages; ++n) (void)empty[n].arrive();
    for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
      full[n % kStages].arrive_and_wait();
      const int at = tile * kHalf + kHalf - 1 - t;
      if (at < count) out[at] = static_cast<T>(stage[n % kStages][kHalf - 1 - t]);
      (void)empty[n % kStages].arrive();
    }
  }
#elif defined(COPY_INTO_BARRIER)
  using Barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ alignas(Barrier) char room[sizeof(Barrier)];
  auto* arrived = reinterpret_cast<Barrier*>(room);
  const auto block = cooperative_groups::this_thread_block();
  if (threadIdx.x == 0) init(arrived, blockDim.x);
  __syncthreads();
  for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    cuda::memcpy_async(block, stage[0], sums + tile * kHalf, cuda::aligned_size_t<16>(sizeof stage[0]), *arrived);
    arrived->arrive_and_wait();
    const int t = static_cast<int>(threadIdx.x), at = tile * kHalf + kHalf - 1 - t;
    if (t < kHalf && at < count) out[at] = static_cast<T>(stage[0][kHalf - 1 - t]);
    __syncthreads();
  }
#else  // PIPELINE_OF_LIBCUXX
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> shared;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &shared);
  const auto fetch = [&](int tile, int n) {
    pipeline.producer_acquire();
    if (tile < tiles)
      cuda::memcpy_async(block, stage[n % kStages], sums + tile * kHalf, cuda::aligned_size_t<16>(sizeof stage[0]),
                         pipeline);
    pipeline.producer_commit();
  };
  fetch(blockIdx.x, 0);
  for (int tile = blockIdx.x, n = 0; tile < tiles; tile += gridDim.x, ++n) {
    fetch(tile + gridDim.x, n + 1);
    pipeline.consumer_wait();
    const int t = static_cast<int>(threadIdx.x), at = tile * kHalf + kHalf - 1 - t;
    if (t < kHalf && at < count) out[at] = static_cast<T>(stage[n % kStages][kHalf - 1 - t]);
    pipeline.consumer_release();
  }
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  prepare<<<(1 << 14) / kThreads, kThreads, 0, ctx.stream()>>>(peers, count);
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, count);
}
