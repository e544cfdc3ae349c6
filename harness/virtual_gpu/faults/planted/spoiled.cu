// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that writes where inputs are.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  T copy[1 << 14];
};
State* here;

__global__ void all_reduce(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  peers.out[peers.self][i] = sum_of_inputs(peers, i);
}
// The second kernel of the stream: on this rank nobody reads its input any more.
__global__ void spoil(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#if defined(OWN)
  if (i == count / 2) const_cast<T*>(peers.input[peers.self])[i] = T(7.5f);  // @OWN
#elif defined(PEERS)
  if (i == count / 2) const_cast<T*>(peers.input[(peers.self + 1) % peers.count])[i] = T(7.5f);  // @PEERS
#elif defined(SAME_VALUE)
  if (i < count) {
    auto* at = reinterpret_cast<volatile unsigned short*>(const_cast<T*>(peers.input[peers.self])) + i;
    *at = *at;  // @SAME_VALUE
  }
#else  // COPY
  if (i < count) peers.state[peers.self]->copy[i] = peers.input[peers.self][i];
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kThreads - 1) / kThreads;
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  all_reduce<<<blocks, kThreads, 0, ctx.stream()>>>(peers, count);
  spoil<<<blocks, kThreads, 0, ctx.stream()>>>(peers, count);
}
