// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce with three meetings of all ranks in one run. A flag holds the number of the meeting; a fast
// rank may have stored the next number before a slow one has looked. The forms differ in how a number is awaited.
#include <pkb/allreduce.h>

#include "peers.cuh"

#ifdef TWO_SLOTS
constexpr int kSlots = 2;
#else
constexpr int kSlots = 1;
#endif

struct State {
  unsigned came[kSlots][kMaxRanks];
  float stage[1 << 14], sum[1 << 14];
};
State* here;
unsigned epoch;

__device__ void meet_all(const Peers<State>& peers, unsigned number) {
  __syncthreads();
  if (threadIdx.x < peers.count) {
    const int slot = number % kSlots;
    store_release(&peers.state[threadIdx.x]->came[slot][peers.self], number);
    const unsigned* flag = &peers.state[peers.self]->came[slot][threadIdx.x];
#ifdef AT_LEAST
    while (!reached(load_acquire(flag), number)) {}
#else
    while (load_acquire(flag) != number) {}  // @wait
#endif
  }
  __syncthreads();
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  const Part slice(count, peers.self, peers.count);
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    own.stage[i] = static_cast<float>(peers.input[peers.self][i]);
  meet_all(peers, 3 * epoch + 1);
  for (int i = slice.begin + threadIdx.x; i < slice.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += peers.state[r]->stage[i];
    own.sum[i] = sum;
  }
  meet_all(peers, 3 * epoch + 2);
  for (int r = 0; r < peers.count; ++r) {
    const Part theirs(count, r, peers.count);
    for (int i = theirs.begin + threadIdx.x; i < theirs.end; i += blockDim.x)
      peers.out[peers.self][i] = static_cast<T>(peers.state[r]->sum[i]);
  }
  meet_all(peers, 3 * epoch + 3);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<1, 512, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                          static_cast<int>(args.out.numel()), epoch++);
}
