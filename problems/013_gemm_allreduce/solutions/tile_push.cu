// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce by tiles. Every output tile has an owner rank. A rank computes its partial product tile
// by tile and stores each, rounded to T, into a slot of the owner's memory; the owner adds the W partial
// tiles and stores the sum to every rank's C. Two kernels in stream order: the first waits for nobody, so the
// second may wait for any rank's first without needing the grid to be co-resident.
#include <pkb/gemm_allreduce.h>

namespace {

using pkb::T;
constexpr int kMaxRanks = 64;
constexpr int kTile = 64, kDepth = 16, kThreads = 256;
constexpr int kPerThread = 4;  // each thread computes 4 x 4 elements
constexpr int kTileElements = kTile * kTile;

struct Symmetric {
  T* slots;           // [owned tile][source rank][kTileElements]
  unsigned* arrived;  // [owned tile]: partial tiles received since setup
  unsigned*
      finished;  // [0]: ranks that have stored all their sums here; [1]: blocks of this rank that are done
};
Symmetric here;
unsigned epoch;

struct Ranks {
  T* slots[kMaxRanks];
  unsigned* arrived[kMaxRanks];
  unsigned* finished[kMaxRanks];
  T* c[kMaxRanks];
  int count, self;
};

struct Shape {
  int m, n, k;
  __host__ __device__ int columns() const { return (n + kTile - 1) / kTile; }
  __host__ __device__ int tiles() const { return (m + kTile - 1) / kTile * columns(); }
};

__device__ unsigned count_block(unsigned* counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
__device__ void signal(unsigned* counter) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ void wait_for(const unsigned* counter, unsigned target) {
  unsigned value;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  } while (static_cast<int>(value - target) < 0);
}

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
__global__ void __launch_bounds__(kThreads) gemm_push(const T* a, const T* b, Shape shape, Ranks ranks) {
  const int tile = blockIdx.x, owner = tile % ranks.count, slot = tile / ranks.count;
  float sum[kPerThread][kPerThread] = {};
  multiply(a, b, shape, tile / shape.columns() * kTile, tile % shape.columns() * kTile, sum);

  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  T* to = ranks.slots[owner] + (std::int64_t{slot} * ranks.count + ranks.self) * kTileElements;
  for (int i = 0; i < kPerThread; ++i)
    for (int j = 0; j < kPerThread; ++j) to[(ty + 16 * i) * kTile + tx + 16 * j] = static_cast<T>(sum[i][j]);
  __syncthreads();
  if (threadIdx.x == 0) signal(&ranks.arrived[owner][slot]);
}

// Block x adds the partial tiles of this rank's x-th tile and stores the sum to all ranks.
__global__ void __launch_bounds__(kThreads) reduce_push(Shape shape, Ranks ranks, unsigned epoch) {
  const int slot = blockIdx.x, tile = slot * ranks.count + ranks.self;
  if (tile < shape.tiles()) {
    if (threadIdx.x == 0) wait_for(&ranks.arrived[ranks.self][slot], epoch * ranks.count);
    __syncthreads();
    const T* partial = ranks.slots[ranks.self] + std::int64_t{slot} * ranks.count * kTileElements;
    const int row0 = tile / shape.columns() * kTile, column0 = tile % shape.columns() * kTile;
    for (int e = threadIdx.x; e < kTileElements; e += kThreads) {
      float sum = 0;
      for (int r = 0; r < ranks.count; ++r) sum += static_cast<float>(partial[r * kTileElements + e]);
      const int row = row0 + e / kTile, column = column0 + e % kTile;
      if (row >= shape.m || column >= shape.n) continue;
      for (int step = 0; step < ranks.count; ++step)
        ranks.c[(ranks.self + step) % ranks.count][std::int64_t{row} * shape.n + column] =
            static_cast<T>(sum);
    }
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned* finished = ranks.finished[ranks.self];
  if (count_block(&finished[1]) != epoch * gridDim.x - 1) return;
  for (int r = 0; r < ranks.count; ++r) signal(&ranks.finished[r][0]);
  wait_for(&finished[0], epoch * ranks.count);
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
  here.slots = static_cast<T*>(ctx.symmetric(owned * ctx.world_size() * kTileElements * sizeof(T)));
  here.arrived = static_cast<unsigned*>(ctx.symmetric(owned * sizeof(unsigned)));
  here.finished = static_cast<unsigned*>(ctx.symmetric(2 * sizeof(unsigned)));
  epoch = 0;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const Shape shape = shape_of(args);
  if (shape.tiles() == 0) return;
  Ranks ranks{};
  ranks.count = ctx.world_size();
  ranks.self = ctx.rank();
  for (int r = 0; r < ranks.count; ++r) {
    ranks.slots[r] = ctx.peer(here.slots, r);
    ranks.arrived[r] = ctx.peer(here.arrived, r);
    ranks.finished[r] = ctx.peer(here.finished, r);
    ranks.c[r] = ctx.peer(args.C.as<T>(), r);
  }
  ++epoch;
  gemm_push<<<shape.tiles(), kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), args.B_local.as<T>(), shape,
                                                          ranks);
  reduce_push<<<owned_tiles(ctx, shape), kThreads, 0, ctx.stream()>>>(shape, ranks, epoch);
}
