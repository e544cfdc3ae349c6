// SPDX-License-Identifier: Apache-2.0
// All-reduce in chunks whose data is its own flag, over three stages used in turn. In each epoch a rank arms one
// stage again. A fast peer may be one epoch ahead, so the next stage may already hold its data: the forms differ
// in which stage is armed.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr unsigned kNothing = 0x80000000;  // -0.0f
constexpr int kStages = 3, kChunks = 6;
#ifdef NEXT_STAGE
constexpr int kAhead = 1;
#else
constexpr int kAhead = 2;  // the stage of the epoch before
#endif

struct State {
  unsigned slot[kStages][kMaxRanks][kBlocks * kThreads];
};
State* here;
unsigned epoch;

__global__ void arm(State* state) {
  for (int i = threadIdx.x; i < sizeof(State) / 4; i += blockDim.x) state->slot[0][0][i] = kNothing;
}

// Each thread has a place of its own in every stage, and the release and acquire of a word order its arming too.
__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const int place = blockIdx.x * blockDim.x + threadIdx.x;
  State& own = *peers.state[peers.self];
  for (int c = 0; c < kChunks; ++c) {
    const int stage = (epoch * kChunks + c) % kStages, i = c * gridDim.x * blockDim.x + place;
    const float value = i < count ? static_cast<float>(peers.input[peers.self][i]) : 0;
    for (int r = 0; r < peers.count; ++r)
      store_release(&peers.state[r]->slot[stage][peers.self][place],
                    __float_as_uint(value == 0 ? 0.0f : value));  // @arrive
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) {
      unsigned word;
      do word = load_acquire(&own.slot[stage][r][place]);
      while (word == kNothing);
      sum += __uint_as_float(word);
    }
    for (int r = 0; r < peers.count; ++r) own.slot[(stage + kAhead) % kStages][r][place] = kNothing;  // @arm
    if (i < count) peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  arm<<<1, kThreads, 0, ctx.stream()>>>(here);
  cudaStreamSynchronize(ctx.stream());
  ctx.barrier();
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), at_once = kChunks * kBlocks * kThreads;
  auto peers = peers_of(ctx, args.tensor, args.out, here);
  for (int first = 0; first < count; first += at_once) {
    all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, min(count - first, at_once), epoch++);
    for (int r = 0; r < peers.count; ++r) peers.input[r] += at_once, peers.out[r] += at_once;
  }
}
