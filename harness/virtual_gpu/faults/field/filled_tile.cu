// SPDX-License-Identifier: Apache-2.0
// All-reduce: threads fill a shared tile, and the copy engine sends it to every rank. Between their stores and
// its reads stands a block barrier, but not in every form the fence that makes stores visible to the async proxy.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kTiles = (1 << 14) / kThreads;

struct State {
  alignas(16) float slot[kMaxRanks][kTiles][kThreads];
  unsigned ready[kMaxRanks][kTiles];
};
State* here;
unsigned epoch;

__global__ void push(Peers<State> peers, int count, unsigned epoch) {
  __shared__ alignas(16) float tile[kThreads];
  const int t = blockIdx.x, at = t * kThreads + threadIdx.x;
  tile[threadIdx.x] = at < count ? static_cast<float>(peers.input[peers.self][at]) : 0;  // @fill
#ifdef FENCE
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
  __syncthreads();
  if (threadIdx.x != 0) return;
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  for (int r = 0; r < peers.count; ++r)
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;"  // @send
                 ::"l"(peers.state[r]->slot[peers.self][t]), "r"(from), "r"(unsigned{sizeof tile}) : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->ready[peers.self][t], epoch);
}

__global__ void reduce(Peers<State> peers, int count, unsigned epoch) {
  const State& own = *peers.state[peers.self];
  const int t = blockIdx.x, at = t * kThreads + threadIdx.x;
  if (threadIdx.x < peers.count)
    while (!reached(load_acquire(&own.ready[threadIdx.x][t]), epoch)) {}
  __syncthreads();
  if (at >= count) return;
  float sum = 0;
  for (int r = 0; r < peers.count; ++r) sum += own.slot[r][t][threadIdx.x];
  peers.out[peers.self][at] = static_cast<T>(sum);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), tiles = (count + kThreads - 1) / kThreads;
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  ++epoch;
  push<<<tiles, kThreads, 0, ctx.stream()>>>(peers, count, epoch);
  reduce<<<tiles, kThreads, 0, ctx.stream()>>>(peers, count, epoch);
}
