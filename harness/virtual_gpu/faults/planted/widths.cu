// SPDX-License-Identifier: Apache-2.0
// A right all-reduce with one access at an address that its width does not divide.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned words[64];
};
State* here;

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ alignas(16) unsigned tile[2 * kThreads + 4];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = threadIdx.x; k < 2 * kThreads + 4; k += blockDim.x) tile[k] = 0;
  __syncthreads();
  float seen = 0;
#if defined(VECTOR_OF_ODD_ROW)
  // A row of 131 elements: only every eighth row starts where a vector may.
  if (i == 0 && count > 300) seen = reinterpret_cast<const float4*>(peers.input[peers.self] + 131)->x;  // @VECTOR_OF_ODD_ROW
#elif defined(VECTOR_OF_EIGHTH_ROW)
  if (i == 0 && count > 2000) seen = reinterpret_cast<const float4*>(peers.input[peers.self] + 8 * 131)->x;
#elif defined(SHARED_PAIR)
  seen = static_cast<float>(*reinterpret_cast<const unsigned long long*>(&tile[2 * threadIdx.x + 1]));  // @SHARED_PAIR
#elif defined(ATOMIC_AT_HALF)
  auto* half = reinterpret_cast<char*>(peers.state[peers.self]) + 2;
  if (i == 0) atomicAdd(reinterpret_cast<unsigned*>(half), 1);  // @ATOMIC_AT_HALF
#elif defined(PEERS_WORD)
  auto* byte = reinterpret_cast<char*>(peers.state[(peers.self + 1) % peers.count]) + 1;
  if (i == 0) seen = static_cast<float>(*reinterpret_cast<unsigned short*>(byte));  // @PEERS_WORD
#endif
  if (i < count) peers.out[peers.self][i] = seen == 1.2345f ? T(0.0f) : sum_of_inputs(peers, i);
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of(ctx, args.tensor, args.out, here), count);
}
