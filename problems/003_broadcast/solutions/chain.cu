// SPDX-License-Identifier: Apache-2.0
// Broadcast by a pipelined chain: the root, the rank behind it, and so on. Every rank but the last stores each chunk to
// the next rank's output as soon as it has it itself, so that no rank sends or receives more than the matrix once.
#include <pkb/broadcast.h>

namespace {

constexpr int kChunks = 64, kThreads = 256;

// In symmetric memory: how often each chunk has arrived here. It only grows.
unsigned* arrived_here;
unsigned epoch;

struct Chain {
  const char* input;  // the root's matrix; null elsewhere
  char* out;
  char* next_out;  // null on the last rank
  unsigned* arrived;
  unsigned* next_arrived;
};

__device__ void signal(unsigned* flag) {
  asm volatile("red.release.sys.global.add.u32 [%0], 1;" ::"l"(flag) : "memory");
}
__device__ void wait_for(const unsigned* flag, unsigned target) {
  unsigned value;
  do {
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  } while (static_cast<int>(value - target) < 0);
}

// Block b passes on chunk b. It waits for the rank before it only, so no rank needs all its blocks to be resident.
template <class Unit>
__global__ void __launch_bounds__(kThreads) broadcast(Chain chain, std::int64_t units, unsigned epoch) {
  const std::int64_t per_chunk = (units + gridDim.x - 1) / gridDim.x;
  const std::int64_t first = blockIdx.x * per_chunk, last = min(first + per_chunk, units);
  auto* out = reinterpret_cast<Unit*>(chain.out);
  auto* next = reinterpret_cast<Unit*>(chain.next_out);
  if (chain.input == nullptr) {
    if (threadIdx.x == 0) wait_for(&chain.arrived[blockIdx.x], epoch);
    __syncthreads();
  }
  for (std::int64_t i = first + threadIdx.x; i < last; i += kThreads) {
    const Unit value = chain.input != nullptr ? reinterpret_cast<const Unit*>(chain.input)[i] : out[i];
    if (chain.input != nullptr) out[i] = value;
    if (next != nullptr) next[i] = value;
  }
  __syncthreads();
  if (threadIdx.x == 0 && next != nullptr) signal(&chain.next_arrived[blockIdx.x]);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  arrived_here = static_cast<unsigned*>(ctx.symmetric(kChunks * sizeof(unsigned)));
  epoch = 0;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int ranks = ctx.world_size(), src = static_cast<int>(args.src), next = (ctx.rank() + 1) % ranks;
  const std::int64_t bytes = args.out.numel() * static_cast<std::int64_t>(sizeof(pkb::T));
  const Chain chain{.input = ctx.rank() == src ? args.tensor.as<char>() : nullptr,
                    .out = args.out.as<char>(),
                    .next_out = next == src ? nullptr : ctx.peer(args.out.as<char>(), next),
                    .arrived = arrived_here,
                    .next_arrived = ctx.peer(arrived_here, next)};
  ++epoch;
  if (bytes % 16 == 0)
    broadcast<uint4><<<kChunks, kThreads, 0, ctx.stream()>>>(chain, bytes / 16, epoch);
  else
    broadcast<unsigned short><<<kChunks, kThreads, 0, ctx.stream()>>>(chain, bytes / 2, epoch);
}
