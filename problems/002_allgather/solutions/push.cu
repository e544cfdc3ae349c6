// SPDX-License-Identifier: Apache-2.0
// All-gather by stores: every rank writes its block into every rank's output and signals; a rank is done when
// all blocks have arrived. A block starts at rank * M * N elements, which may be odd, so the widest access
// that every block's address allows is chosen on the host.
#include <pkb/allgather.h>

namespace {

constexpr int kMaxRanks = 64;

// In symmetric memory; counters only grow, so nothing is ever reset while a peer may still signal.
struct Sync {
  unsigned arrived;  // signals received from all ranks, this one included
  unsigned blocks;   // blocks of this rank that have stored their part
};
Sync* sync_here;

struct Ranks {
  char* block[kMaxRanks];  // where this rank's block goes in each rank's output
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

template <class Unit>
__global__ void all_gather(const Unit* input, Ranks ranks, std::int64_t units) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < units;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const Unit value = input[i];
    for (int step = 1; step <= ranks.count; ++step)
      reinterpret_cast<Unit*>(ranks.block[(ranks.self + step) % ranks.count])[i] = value;
  }

  __syncthreads();
  if (threadIdx.x != 0) return;
  Sync* here = ranks.sync[ranks.self];
  const unsigned before = count_block(&here->blocks);
  if (before % gridDim.x != gridDim.x - 1) return;  // only the last block speaks for the grid
  const unsigned epoch = before / gridDim.x + 1;
  for (int r = 0; r < ranks.count; ++r) signal(&ranks.sync[r]->arrived);
  while (static_cast<int>(load_acquire(&here->arrived) - epoch * ranks.count) < 0) __nanosleep(100);
}

template <class Unit>
void launch(pkb::Context& ctx, const pkb::Tensor& input, const Ranks& ranks, std::int64_t bytes) {
  // The number of blocks must be the same in every run: the kernel counts them.
  all_gather<Unit><<<64, 256, 0, ctx.stream()>>>(input.as<Unit>(), ranks, bytes / sizeof(Unit));
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  sync_here = static_cast<Sync*>(ctx.symmetric(sizeof(Sync)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t bytes = args.tensor.numel() * sizeof(pkb::T);
  Ranks ranks{};
  ranks.count = ctx.world_size();
  ranks.self = ctx.rank();
  for (int r = 0; r < ranks.count; ++r) {
    ranks.block[r] = ctx.peer(args.out.as<char>(), r) + ranks.self * bytes;
    ranks.sync[r] = ctx.peer(sync_here, r);
  }
  if (bytes % 16 == 0)
    launch<uint4>(ctx, args.tensor, ranks, bytes);
  else if (bytes % 4 == 0)
    launch<unsigned>(ctx, args.tensor, ranks, bytes);
  else
    launch<unsigned short>(ctx, args.tensor, ranks, bytes);
}
