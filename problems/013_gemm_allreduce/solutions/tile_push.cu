// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce by tiles. Every output tile has an owner rank. A rank computes its partial product tile
// by tile and stores each, rounded to T, into a slot of the owner's memory; the owner adds the W partial
// tiles and stores the sum to every rank's C. Two kernels in stream order: the first waits for nobody, so the
// second may wait for any rank's first without needing the grid to be co-resident.
#include <pkb/gemm_allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kTile = 64, kDepth = 16, kThreads = 256;
constexpr int kPerThread = 4;  // each thread computes 4 x 4 elements
constexpr int kTileElements = kTile * kTile;

T* slots_here;  // [owned tile][source rank][kTileElements]
pkb::Signals signals;

struct Shape {
  int m, n, k;
  __host__ __device__ int columns() const { return (n + kTile - 1) / kTile; }
  __host__ __device__ int tiles() const { return (m + kTile - 1) / kTile * columns(); }
};

// One partial tile of A B in registers: thread (tx, ty) has rows ty + 16 i and columns tx + 16 j.
__device__ void multiply(const T* a, const T* b, Shape shape, int row0, int column0,
                         float (&sum)[kPerThread][kPerThread]) {
  __shared__ T tile_a[kDepth][kTile + 1];
  __shared__ T tile_b[kDepth][kTile];
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  for (int k0 = 0; k0 < shape.k; k0 += kDepth) {
    for (int e = threadIdx.x; e < kTile * kDepth; e += kThreads) {
      const int row = row0 + e / kDepth, ka = k0 + e % kDepth;
      tile_a[e % kDepth][e / kDepth] =
          row < shape.m && ka < shape.k ? a[std::int64_t{row} * shape.k + ka] : T(0.0f);
      const int kb = k0 + e / kTile, column = column0 + e % kTile;
      tile_b[e / kTile][e % kTile] =
          kb < shape.k && column < shape.n ? b[std::int64_t{kb} * shape.n + column] : T(0.0f);
    }
    __syncthreads();
    for (int k = 0; k < kDepth; ++k) {
      float left[kPerThread], right[kPerThread];
      for (int i = 0; i < kPerThread; ++i) {
        left[i] = static_cast<float>(tile_a[k][ty + 16 * i]);
        right[i] = static_cast<float>(tile_b[k][tx + 16 * i]);
      }
      for (int i = 0; i < kPerThread; ++i)
        for (int j = 0; j < kPerThread; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
}

// Block x computes tile x, so that consecutive blocks feed different owners.
__global__ void __launch_bounds__(kThreads)
    gemm_push(const T* a, const T* b, Shape shape, pkb::Peers<T> slots, pkb::Signals signals) {
  const int tile = blockIdx.x, owner = tile % slots.ranks, slot = tile / slots.ranks;
  float sum[kPerThread][kPerThread] = {};
  const int row0 = tile / shape.columns() * kTile, column0 = tile % shape.columns() * kTile;
  multiply(a, b, shape, row0, column0, sum);

  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  T* to = slots[owner] + (std::int64_t{slot} * slots.ranks + slots.rank) * kTileElements;
  for (int i = 0; i < kPerThread; ++i)
    for (int j = 0; j < kPerThread; ++j) {
      const int y = ty + 16 * i, x = tx + 16 * j;
      if (row0 + y < shape.m && column0 + x < shape.n) to[y * kTile + x] = static_cast<T>(sum[i][j]);
    }
  signals.signal(pkb::whole_block(), slot, owner);
}

// Block x adds the partial tiles of this rank's x-th tile and stores the sum to all ranks.
__global__ void __launch_bounds__(kThreads)
    reduce_push(Shape shape, const T* slots, pkb::Peers<T> c, pkb::Signals signals) {
  const int slot = blockIdx.x, tile = slot * c.ranks + c.rank;
  if (tile < shape.tiles()) {
    signals.wait_all(pkb::whole_block(), slot, signals.epoch());
    const T* partial = slots + std::int64_t{slot} * c.ranks * kTileElements;
    const int row0 = tile / shape.columns() * kTile, column0 = tile % shape.columns() * kTile;
    for (int e = threadIdx.x; e < kTileElements; e += kThreads) {
      const int row = row0 + e / kTile, column = column0 + e % kTile;
      if (row >= shape.m || column >= shape.n) continue;
      float sum = 0;
      for (int r = 0; r < c.ranks; ++r) sum += static_cast<float>(partial[r * kTileElements + e]);
      for (int step = 0; step < c.ranks; ++step)
        c[(c.rank + step) % c.ranks][std::int64_t{row} * shape.n + column] = static_cast<T>(sum);
    }
  }
  signals.finish();
}

Shape shape_of(const pkb::Args& args) {
  return {static_cast<int>(args.C.shape[0]), static_cast<int>(args.C.shape[1]),
          static_cast<int>(args.A_local.shape[1])};
}
int owned_tiles(const pkb::Context& ctx, Shape shape) {
  return (shape.tiles() + ctx.world_size() - 1) / ctx.world_size();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const std::size_t owned = owned_tiles(ctx, shape_of(args));
  slots_here = static_cast<T*>(ctx.symmetric(owned * ctx.world_size() * kTileElements * sizeof(T)));
  signals = pkb::Signals(ctx, static_cast<int>(owned));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const Shape shape = shape_of(args);
  if (shape.tiles() == 0) return;
  gemm_push<<<shape.tiles(), kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), args.B_local.as<T>(), shape,
                                                          pkb::peers_of(ctx, slots_here), signals);
  reduce_push<<<owned_tiles(ctx, shape), kThreads, 0, ctx.stream()>>>(
      shape, slots_here, pkb::peers_of(ctx, args.C.as<T>()), signals);
}
