// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce in four chunks through staging slots, each with a flag that says it is ready. A slot is
// filled again for a later chunk; the forms differ in what tells its rank that the peers have read the earlier one.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kChunks = 4;
#ifdef TWO_SLOTS
constexpr int kSlots = 2;
#else
constexpr int kSlots = 1;
#endif

struct State {
  unsigned ready[kBlocks][kMaxRanks], done[kBlocks][kMaxRanks];
  T stage[kSlots][1 << 13];
};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  for (int c = 0; c < kChunks; ++c) {
    const unsigned number = (epoch - 1) * kChunks + c + 1;
    const Part chunk(count, c, kChunks);
    const int width = (count + kChunks - 1) / kChunks;
    Part part(width, blockIdx.x, gridDim.x);  // the same elements of the slot in every chunk
    part.end = min(part.end, chunk.end - chunk.begin);
    T* slot = own.stage[c % kSlots];
#ifdef DONE_FLAGS
    if (threadIdx.x < peers.count)
      while (!reached(load_acquire(&own.done[blockIdx.x][threadIdx.x]), number - 1)) {}
    __syncthreads();
#endif
    for (int i = part.begin + threadIdx.x; i < part.end; i += blockDim.x)
      slot[i] = peers.input[peers.self][chunk.begin + i];  // @refill
    __syncthreads();
    if (threadIdx.x < peers.count) {
      store_release(&peers.state[threadIdx.x]->ready[blockIdx.x][peers.self], number);
      while (!reached(load_acquire(&own.ready[blockIdx.x][threadIdx.x]), number)) {}
    }
    __syncthreads();
    for (int i = part.begin + threadIdx.x; i < part.end; i += blockDim.x) {
      float sum = 0;
      for (int r = 0; r < peers.count; ++r)
        sum += static_cast<float>(peers.state[r]->stage[c % kSlots][i]);  // @read
      peers.out[peers.self][chunk.begin + i] = static_cast<T>(sum);
    }
    __syncthreads();
#ifdef DONE_FLAGS
    if (threadIdx.x < peers.count)
      store_release(&peers.state[threadIdx.x]->done[blockIdx.x][peers.self], number);
#endif
  }
#ifdef DONE_FLAGS
  // The last of these flags too has to come while this rank still runs.
  if (threadIdx.x < peers.count)
    while (!reached(load_acquire(&own.done[blockIdx.x][threadIdx.x]), epoch * kChunks)) {}
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
