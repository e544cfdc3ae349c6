// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce by tiles of a row: a partial tile goes from shared memory to every rank by a bulk store. The
// forms differ in which completion is waited for before the flag: that the source was read, or that all is written.
#include <pkb/gemm_allreduce.h>

#include "peers.cuh"
#include "product.cuh"

constexpr int kTile = 256, kTiles = 32;

struct State {
  alignas(16) float slot[kMaxRanks][kTiles][kTile];
  unsigned ready[kMaxRanks][kTiles];
};
State* here;
unsigned epoch;

__device__ void send(float* to, const float* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(address),
               "r"(static_cast<unsigned>(kTile * sizeof(float)))
               : "memory");  // @send
}

__global__ void gemm_push(Peers<State> peers, const T* b, Shape shape, unsigned epoch) {
  __shared__ alignas(16) float tile[kTile];
  for (int t = blockIdx.x; t * kTile < shape.count(); t += gridDim.x) {
    const int at = t * kTile + threadIdx.x;
    tile[threadIdx.x] = at < shape.count() ? element_of_product(peers.input[peers.self], b, shape, at) : 0;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int r = 0; r < peers.count; ++r) send(peers.state[r]->slot[peers.self][t], tile);
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#ifdef FULL_AT_ONCE
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
#ifndef FULL_IN_THE_END
      for (int r = 0; r < peers.count; ++r)
        store_release(&peers.state[r]->ready[peers.self][t], epoch);  // @flag
#endif
    }
    __syncthreads();  // the tile is filled again
  }
#ifdef FULL_IN_THE_END
  if (threadIdx.x != 0) return;
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  for (int t = blockIdx.x; t * kTile < shape.count(); t += gridDim.x)
    for (int r = 0; r < peers.count; ++r) store_release(&peers.state[r]->ready[peers.self][t], epoch);
#endif
}

__global__ void reduce(Peers<State> peers, int count, unsigned epoch) {
  const State& own = *peers.state[peers.self];
  const int t = blockIdx.x, at = t * kTile + threadIdx.x;
  if (threadIdx.x < peers.count)
    while (!reached(load_acquire(&own.ready[threadIdx.x][t]), epoch)) {}
  __syncthreads();
  if (at >= count) return;
  float sum = 0;
  for (int r = 0; r < peers.count; ++r) sum += own.slot[r][t][threadIdx.x];  // @sum
  peers.out[peers.self][at] = static_cast<T>(sum);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const Shape shape = shape_of(args);
  const auto peers = peers_of(ctx, args.A_local, args.C, here);
  ++epoch;
  gemm_push<<<kBlocks, kTile, 0, ctx.stream()>>>(peers, args.B_local.as<T>(), shape, epoch);
  reduce<<<(shape.count() + kTile - 1) / kTile, kTile, 0, ctx.stream()>>>(peers, shape.count(), epoch);
}
