// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce: rank s sums slice s into its own buffer, in place, and everybody gathers the slices. The
// forms differ in where slice s is read from in the buffer of rank s.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  float stage[1 << 14];
};
State* here;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  const int width = (count + peers.count - 1) / peers.count;
  const int begin = peers.self * width, end = min(begin + width, count);
  // Every element of a slice is met by the same thread of the same block on all ranks.
  for (int i = first; i < width; i += stride)
    if (begin + i < end) {
      float sum = 0;
      for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.input[r][begin + i]);
      own.stage[begin + i] = sum;
    }
  meet(peers, epoch);
  for (int s = 0; s < peers.count; ++s) {
#if defined(FROM_ZERO)
    const int from = 0;
#elif defined(FROM_OWN)
    const int from = peers.self * width;
#else
    const int from = s * width;
#endif
    for (int i = first; i < width; i += stride)
      if (s * width + i < count) peers.out[peers.self][s * width + i] = static_cast<T>(peers.state[s]->stage[from + i]);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
