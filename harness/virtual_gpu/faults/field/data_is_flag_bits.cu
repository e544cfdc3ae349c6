// SPDX-License-Identifier: Apache-2.0
// All-gather whose data is its own flag: slots hold the word 0x80008000 until a value arrives. An element is
// sent with its negation in the upper half, which no two bit patterns of one word can collide with, or
// canonicalised, which changes bits that this problem wants back.
#include <pkb/allgather.h>

#include "peers.cuh"

constexpr unsigned kNothing = 0x80008000;

struct State {
  unsigned slot[kMaxRanks][1 << 13];
};
State* here;

__device__ unsigned word_of(T value) {
  const unsigned bits = *reinterpret_cast<const unsigned short*>(&value);
#ifdef CANONICAL
  return bits == 0x8000 ? 0 : bits | bits << 16;
#else
  return bits | (~bits & 0xffff) << 16;
#endif
}

__global__ void arm(State* state) {
  for (auto& slot : state->slot)
    for (int i = threadIdx.x; i < 1 << 13; i += blockDim.x) slot[i] = kNothing;
}

__global__ void all_gather(Peers<State> peers, int count) {
  const int stride = gridDim.x * blockDim.x, first = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = first; i < count; i += stride)
    for (int r = 0; r < peers.count; ++r)
      store_relaxed(&peers.state[r]->slot[peers.self][i], word_of(peers.input[peers.self][i]));
  for (int i = first; i < count; i += stride)
    for (int r = 0; r < peers.count; ++r) {
      unsigned* slot = &peers.state[peers.self]->slot[r][i];
      unsigned word;
      do word = load_relaxed(slot);
      while (word == kNothing);
      store_relaxed(slot, kNothing);
      *reinterpret_cast<unsigned short*>(&peers.out[peers.self][r * count + i]) =
          static_cast<unsigned short>(word);
    }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  arm<<<1, kThreads, 0, ctx.stream()>>>(here);
  cudaStreamSynchronize(ctx.stream());
  ctx.barrier();
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_gather<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.tensor.numel()));
}
