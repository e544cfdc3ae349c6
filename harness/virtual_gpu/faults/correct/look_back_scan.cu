// SPDX-License-Identifier: Apache-2.0
// All-reduce whose elements are placed by a scan with decoupled look-back: each block takes a tile by a ticket, says
// what its tile adds up to, looks back over its predecessors until one knows the whole prefix, and says so itself.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kMostTiles = 64;
constexpr unsigned long long kAggregate = 1ull << 32, kPrefix = 2ull << 32;  // with the epoch in the upper half

struct State {
  unsigned ticket;
  unsigned long long tile[kMostTiles];  // value, what it is, and of which epoch: in one word
};
State* here;
unsigned epoch;

__device__ unsigned long long load(const unsigned long long* at) {
  unsigned long long word;
  asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}
__device__ void store(unsigned long long* at, unsigned long long word) {
  asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  __shared__ int tile, prefix;
  State& own = *peers.state[peers.self];
  const unsigned long long age = static_cast<unsigned long long>(epoch) << 34;
  if (threadIdx.x == 0) tile = atomicAdd(&own.ticket, 1) % gridDim.x;
  __syncthreads();
  const int begin = tile * blockDim.x, width = min(static_cast<int>(blockDim.x), count - begin);
  if (threadIdx.x == 0) {
    const unsigned value = width;
    store(&own.tile[tile], age | (tile == 0 ? kPrefix : kAggregate) | value);
    int sum = 0;
    for (int before = tile - 1; before >= 0; --before) {
      unsigned long long word;
      do word = load(&own.tile[before]);
      while (word >> 34 != epoch);
      sum += static_cast<int>(word & 0xffffffff);
      if (word & kPrefix) break;
    }
    prefix = sum;
    if (tile > 0) store(&own.tile[tile], age | kPrefix | (sum + value));
  }
  __syncthreads();
  const int at = prefix + threadIdx.x;
  if (threadIdx.x < width) peers.out[peers.self][at] = sum_of_inputs(peers, at);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of(ctx, args.tensor, args.out, here), count, ++epoch);
}
