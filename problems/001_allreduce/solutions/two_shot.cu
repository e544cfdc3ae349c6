// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce: rank r adds slice r of all inputs (reduce-scatter by loads) and stores the sum to
// every rank's output (all-gather by stores). 2 (W-1)/W of the tensor crosses each link, the least without
// in-fabric reduction. A rank's output is complete when all ranks have signalled.
#include <pkb/allreduce.h>

namespace {

using pkb::T;
constexpr int kMaxRanks = 64;
constexpr int kWidth = 16 / sizeof(T);

struct alignas(16) Vector {
  T element[kWidth];
};

// In symmetric memory; counters only grow, so nothing is ever reset while a peer may still signal.
struct Sync {
  unsigned arrived;  // signals received from all ranks, this one included
  unsigned blocks;   // blocks of this rank that have stored their part
};
Sync* sync_here;

struct Ranks {
  const T* input[kMaxRanks];
  T* out[kMaxRanks];
  Sync* sync[kMaxRanks];
  int count, self;
};

__device__ unsigned count_block(unsigned* counter) {
  unsigned before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(counter) : "memory");
  return before;
}
__device__ void signal(unsigned* counter) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
}
__device__ unsigned load_acquire(const unsigned* counter) {
  unsigned value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
  return value;
}

// The last block to finish tells every rank and waits for every rank. Only that block waits, and only for
// other ranks' kernels, so the grid need not be co-resident.
__device__ void finish(const Ranks& ranks) {
  __syncthreads();
  if (threadIdx.x != 0) return;
  Sync* here = ranks.sync[ranks.self];
  const unsigned before = count_block(&here->blocks);
  if (before % gridDim.x != gridDim.x - 1) return;
  const unsigned epoch = before / gridDim.x + 1;
  for (int r = 0; r < ranks.count; ++r) signal(&ranks.sync[r]->arrived);
  while (static_cast<int>(load_acquire(&here->arrived) - epoch * ranks.count) < 0) __nanosleep(100);
}

__global__ void all_reduce(Ranks ranks, std::int64_t count) {
  const std::int64_t vectors = (count + kWidth - 1) / kWidth;
  const std::int64_t slice = (vectors + ranks.count - 1) / ranks.count;
  const std::int64_t begin = slice * ranks.self, end = min(begin + slice, vectors);

  for (std::int64_t i = begin + blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < end;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const bool whole = (i + 1) * kWidth <= count;
    const int width = whole ? kWidth : static_cast<int>(count - i * kWidth);
    float sum[kWidth] = {};
    for (int r = 0; r < ranks.count; ++r) {
      Vector v{};
      if (whole)
        v = reinterpret_cast<const Vector*>(ranks.input[r])[i];
      else
        for (int k = 0; k < kWidth; ++k)
          if (k < width) v.element[k] = ranks.input[r][i * kWidth + k];
      for (int k = 0; k < kWidth; ++k) sum[k] += static_cast<float>(v.element[k]);
    }
    Vector total;
    for (int k = 0; k < kWidth; ++k) total.element[k] = static_cast<T>(sum[k]);
    // Each rank starts with another peer, so that no link is crowded.
    for (int step = 1; step <= ranks.count; ++step) {
      T* out = ranks.out[(ranks.self + step) % ranks.count];
      if (whole)
        reinterpret_cast<Vector*>(out)[i] = total;
      else
        for (int k = 0; k < kWidth; ++k)
          if (k < width) out[i * kWidth + k] = total.element[k];
    }
  }
  finish(ranks);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  sync_here = static_cast<Sync*>(ctx.symmetric(sizeof(Sync)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  Ranks ranks{};
  ranks.count = ctx.world_size();
  ranks.self = ctx.rank();
  for (int r = 0; r < ranks.count; ++r) {
    ranks.input[r] = ctx.peer(args.tensor.as<T>(), r);
    ranks.out[r] = ctx.peer(args.out.as<T>(), r);
    ranks.sync[r] = ctx.peer(sync_here, r);
  }
  // The number of blocks must be the same in every run: `finish` counts them.
  all_reduce<<<64, 256, 0, ctx.stream()>>>(ranks, args.out.numel());
}
