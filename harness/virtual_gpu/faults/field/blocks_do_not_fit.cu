// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce with one block of 1024 threads for every 32 elements, all of which wait for each other: more
// than a GPU holds at a time. The forms differ in whether blocks that wait may keep others from starting.
#include <pkb/allreduce.h>

#include <algorithm>

#include "peers.cuh"

constexpr int kPerBlock = 32, kMost = (1 << 14) / kPerBlock;

struct State {
  unsigned pushed[kMaxRanks][kMost];  // by source and part
  unsigned blocks;
  float slot[kMaxRanks][1 << 14];
};
State* here;
unsigned epoch, launched;

__device__ void push(const Peers<State>& peers, int part, int count, unsigned epoch) {
  const int i = part * kPerBlock + threadIdx.x;
  if (threadIdx.x < kPerBlock && i < count)
    for (int r = 0; r < peers.count; ++r)
      peers.state[r]->slot[peers.self][i] = static_cast<float>(peers.input[peers.self][i]);
  __syncthreads();
  if (threadIdx.x < peers.count) store_release(&peers.state[threadIdx.x]->pushed[peers.self][part], epoch);
}
__device__ void pull(const Peers<State>& peers, int part, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  if (threadIdx.x < peers.count)
    while (!reached(load_acquire(&own.pushed[threadIdx.x][part]), epoch)) {}
  __syncthreads();
  const int i = part * kPerBlock + threadIdx.x;
  if (threadIdx.x < kPerBlock && i < count) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += own.slot[r][i];
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}
__device__ void wait_for_grid(State& own, unsigned blocks) {
  __syncthreads();
  if (threadIdx.x == 0) {
    add_acq_rel_gpu(&own.blocks, 1);
    while (!reached(load_acquire_gpu(&own.blocks), blocks)) {}  // @wait
  }
  __syncthreads();
}

#ifdef TWO_KERNELS
__global__ void push_all(Peers<State> peers, int count, unsigned epoch) { push(peers, blockIdx.x, count, epoch); }
__global__ void pull_all(Peers<State> peers, int count, unsigned epoch) { pull(peers, blockIdx.x, count, epoch); }
#else
__global__ void __launch_bounds__(1024, 2)
    all_reduce(Peers<State> peers, int count, int parts, unsigned epoch, unsigned blocks) {
  for (int part = blockIdx.x; part < parts; part += gridDim.x) push(peers, part, count, epoch);
  wait_for_grid(*peers.state[peers.self], blocks);
  for (int part = blockIdx.x; part < parts; part += gridDim.x) pull(peers, part, count, epoch);
}
#endif

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = launched = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), parts = (count + kPerBlock - 1) / kPerBlock;
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  ++epoch;
#ifdef TWO_KERNELS
  push_all<<<parts, 1024, 0, ctx.stream()>>>(peers, count, epoch);
  pull_all<<<parts, 1024, 0, ctx.stream()>>>(peers, count, epoch);
#else
  int blocks = parts;
#ifdef CLAMPED
  int per_sm = 0, sms = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, all_reduce, 1024, 0);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  blocks = std::min(parts, per_sm * sms);
#endif
  launched += blocks;
  all_reduce<<<blocks, 1024, 0, ctx.stream()>>>(peers, count, parts, epoch, launched);
#endif
}
