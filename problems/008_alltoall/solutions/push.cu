// SPDX-License-Identifier: Apache-2.0
// All-to-all by stores: rank r writes its block d into block r of rank d's output and signals rank d when all
// of it is there. A block of M * N elements may start at an odd element, so the widest access that every
// block's address allows is chosen on the host.
#include <pkb/alltoall.h>

namespace {

constexpr int kMaxRanks = 64;

// In symmetric memory; counters only grow, so nothing is ever reset while a peer may still signal.
struct Sync {
  unsigned arrived;            // blocks that have arrived here, from all ranks
  unsigned stored[kMaxRanks];  // thread blocks of this rank that have stored their part for each peer
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

// blockIdx.y is the step: peers are served in another order on every rank, so that no link is crowded.
template <class Unit>
__global__ void all_to_all(const Unit* input, Ranks ranks, std::int64_t units) {
  const int peer = (ranks.self + 1 + blockIdx.y) % ranks.count;
  const Unit* from = input + peer * units;
  Unit* to = reinterpret_cast<Unit*>(ranks.block[peer]);
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < units;
       i += std::int64_t{gridDim.x} * blockDim.x)
    to[i] = from[i];

  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned before = count_block(&ranks.sync[ranks.self]->stored[peer]);
  if (before % gridDim.x != gridDim.x - 1) return;
  const unsigned epoch = before / gridDim.x + 1;
  signal(&ranks.sync[peer]->arrived);
  if (peer != ranks.self) return;  // one thread of the grid waits for everybody's blocks
  while (static_cast<int>(load_acquire(&ranks.sync[ranks.self]->arrived) - epoch * ranks.count) < 0)
    __nanosleep(100);
}

template <class Unit>
void launch(pkb::Context& ctx, const pkb::Tensor& input, const Ranks& ranks, std::int64_t bytes) {
  // The number of blocks must be the same in every run: the kernel counts them.
  const dim3 grid(16, ranks.count);
  all_to_all<Unit><<<grid, 256, 0, ctx.stream()>>>(input.as<Unit>(), ranks, bytes / sizeof(Unit));
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  sync_here = static_cast<Sync*>(ctx.symmetric(sizeof(Sync)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  Ranks ranks{};
  ranks.count = ctx.world_size();
  ranks.self = ctx.rank();
  const std::int64_t bytes = args.out.numel() / ranks.count * sizeof(pkb::T);
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
