// SPDX-License-Identifier: Apache-2.0
// All-reduce that stages small tensors in a buffer of 16 KiB and reads the peers' inputs for larger ones. The
// forms differ in the unit of what is compared with the size of the buffer.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kStagingBytes = 16384;

struct State : Meeting {};
State* here;
T* staging;
unsigned epoch;

struct Staging {
  T* of_rank[kMaxRanks];
};

__global__ void all_reduce(Peers<State> peers, Staging staging, bool staged, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  if (staged) {
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      staging.of_rank[peers.self][i] = peers.input[peers.self][i];  // @stage
    meet(peers, epoch);
  }
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
      sum += static_cast<float>(staged ? staging.of_rank[r][i] : peers.input[r][i]);
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  staging = static_cast<T*>(ctx.symmetric(kStagingBytes));
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
#ifdef IN_ELEMENTS
  const bool staged = count <= kStagingBytes;
#else
  const bool staged = count * sizeof(T) <= kStagingBytes;
#endif
  Staging all{};
  for (int r = 0; r < ctx.world_size(); ++r) all.of_rank[r] = ctx.peer(staging, r);
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here), all, staged, count,
                                                     ++epoch);
}
