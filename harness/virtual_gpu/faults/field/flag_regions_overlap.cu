// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce by tiles in two phases, each with one flag per tile: partial tiles have come to the tile's
// owner; the owner's sum has come to this rank. The second region of flags starts where the first should end.
#include <pkb/gemm_allreduce.h>

#include "peers.cuh"
#include "product.cuh"

constexpr int kTile = 64;

struct State {
  unsigned flag[64];
  float slot[kMaxRanks][1 << 13];
};
State* here;
unsigned epoch;

struct Tiles {
  Shape shape;
  __device__ int columns() const { return (shape.n + kTile - 1) / kTile; }
  __device__ int count() const { return (shape.m + kTile - 1) / kTile * columns(); }
  __device__ int second_region() const {
#ifdef ROUND_DOWN
    return shape.m / kTile * (shape.n / kTile);
#else
    return count();
#endif
  }
  // The elements of a tile that exist; `body(at)` gets the row-major index.
  template <class Body>
  __device__ void each_element(int tile, Body body) const {
    const int row0 = tile / columns() * kTile, column0 = tile % columns() * kTile;
    for (int e = threadIdx.x; e < kTile * kTile; e += blockDim.x) {
      const int row = row0 + e / kTile, column = column0 + e % kTile;
      if (row < shape.m && column < shape.n) body(row * shape.n + column);
    }
  }
};

__global__ void gemm_push(Peers<State> peers, const T* b, Tiles tiles) {
  const int tile = blockIdx.x;
  if (tile >= tiles.count()) return;
  State& owner = *peers.state[tile % peers.count];
  tiles.each_element(tile, [&](int at) {
    owner.slot[peers.self][at] = element_of_product(peers.input[peers.self], b, tiles.shape, at);
  });
  __syncthreads();
  if (threadIdx.x == 0) add_release(&owner.flag[tile], 1);
}

__global__ void reduce_push(Peers<State> peers, Tiles tiles, unsigned epoch) {
  const int tile = blockIdx.x;
  if (tile >= tiles.count()) return;
  State& own = *peers.state[peers.self];
  if (tile % peers.count == peers.self) {
    if (threadIdx.x == 0)
      while (!reached(load_acquire(&own.flag[tile]), epoch * peers.count)) {}
    __syncthreads();
    tiles.each_element(tile, [&](int at) {
      float sum = 0;
      for (int r = 0; r < peers.count; ++r) sum += own.slot[r][at];
      for (int r = 0; r < peers.count; ++r) peers.out[r][at] = static_cast<T>(sum);
    });
    __syncthreads();
    if (threadIdx.x < peers.count)
      add_release(&peers.state[threadIdx.x]->flag[tiles.second_region() + tile], 1);
  }
  if (threadIdx.x == 0)
    while (!reached(load_acquire(&own.flag[tiles.second_region() + tile]), epoch)) {}
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const Tiles tiles{shape_of(args)};
  const auto peers = peers_of(ctx, args.A_local, args.C, here);
  gemm_push<<<8, kThreads, 0, ctx.stream()>>>(peers, args.B_local.as<T>(), tiles);
  reduce_push<<<8, kThreads, 0, ctx.stream()>>>(peers, tiles, ++epoch);
}
