// SPDX-License-Identifier: Apache-2.0
// Reduce by a pipelined chain that ends at the root: the rank behind the root begins. Each rank adds its matrix to the
// partial sums that it receives and stores the result to the next rank, chunk by chunk, so that no rank sends or
// receives more than the matrix once. Partial sums travel in the run dtype.
#include <pkb/reduce.h>

namespace {

using pkb::T;
constexpr int kChunks = 64, kThreads = 256;

// In symmetric memory: partial sums from the rank before, and how often each chunk of them has arrived.
T* partial_here;
unsigned* arrived_here;
unsigned epoch;

struct Chain {
  const T* input;
  const T* partial;  // null on the first rank
  T* to;             // the next rank's partial sums, or the root's output
  unsigned* arrived;
  unsigned* next_arrived;  // null on the root
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

// Block b has chunk b. It waits for the rank before it only, so no rank needs all its blocks to be resident.
__global__ void __launch_bounds__(kThreads) reduce(Chain chain, std::int64_t count, unsigned epoch) {
  const std::int64_t per_chunk = (count + gridDim.x - 1) / gridDim.x;
  const std::int64_t first = blockIdx.x * per_chunk, last = min(first + per_chunk, count);
  if (chain.partial != nullptr) {
    if (threadIdx.x == 0) wait_for(&chain.arrived[blockIdx.x], epoch);
    __syncthreads();
  }
  for (std::int64_t i = first + threadIdx.x; i < last; i += kThreads) {
    const float before = chain.partial != nullptr ? static_cast<float>(chain.partial[i]) : 0.0f;
    chain.to[i] = static_cast<T>(before + static_cast<float>(chain.input[i]));
  }
  __syncthreads();
  if (threadIdx.x == 0 && chain.next_arrived != nullptr) signal(&chain.next_arrived[blockIdx.x]);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  partial_here = static_cast<T*>(ctx.symmetric(args.tensor.numel() * sizeof(T)));
  arrived_here = static_cast<unsigned*>(ctx.symmetric(kChunks * sizeof(unsigned)));
  epoch = 0;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int ranks = ctx.world_size(), dst = static_cast<int>(args.dst), next = (ctx.rank() + 1) % ranks;
  const bool is_root = ctx.rank() == dst, is_first = ctx.rank() == (dst + 1) % ranks;
  const Chain chain{.input = args.tensor.as<T>(),
                    .partial = is_first ? nullptr : partial_here,
                    .to = is_root ? args.out.as<T>() : ctx.peer(partial_here, next),
                    .arrived = arrived_here,
                    .next_arrived = is_root ? nullptr : ctx.peer(arrived_here, next)};
  reduce<<<kChunks, kThreads, 0, ctx.stream()>>>(chain, args.tensor.numel(), ++epoch);
}
