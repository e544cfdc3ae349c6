// SPDX-License-Identifier: Apache-2.0
// A right all-reduce with one access that lies beyond what may be accessed, and forms that just do not.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  float values[64];
};
State* here;
float* scratch;

__global__ void all_reduce(Peers<State> peers, float* scratch, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool first = i == 0, last = i == count - 1;
  float seen = 0;  // what a stray load brings must be used, or the compiler drops it
#if defined(STORE_PAST_OUTPUT)
  if (last) peers.out[peers.self][i + 1] = T(0.0f);  // @STORE_PAST_OUTPUT
#elif defined(LOAD_BEFORE_INPUT)
  if (first) seen = static_cast<float>(peers.input[peers.self][i - 1]);  // @LOAD_BEFORE_INPUT
#elif defined(VECTOR_OVER_THE_END)
  // Rounded up to whole vectors, the last of which lies half behind the tensor.
  if (i < (count + 7) / 8) seen = reinterpret_cast<const float4*>(peers.input[peers.self])[i].w;  // @VECTOR_OVER_THE_END
#elif defined(WHOLE_VECTORS)
  if (i < count / 8) seen = reinterpret_cast<const float4*>(peers.input[peers.self])[i].w;
#elif defined(PEERS_OUTPUT)
  if (last) peers.out[(peers.self + 1) % peers.count][i + 1] = T(0.0f);  // @PEERS_OUTPUT
#elif defined(PEERS_INPUT)
  if (last) seen = static_cast<float>(peers.input[(peers.self + 1) % peers.count][i + 1]);  // @PEERS_INPUT
#elif defined(PEERS_STATE)
  if (first) seen = peers.state[(peers.self + 1) % peers.count]->values[64];  // @PEERS_STATE
#elif defined(PEERS_STATE_WITHIN)
  if (first) seen = peers.state[(peers.self + 1) % peers.count]->values[63];
#elif defined(ALLOCATION)
  if (i < 101) scratch[i] = 1;  // @ALLOCATION
#elif defined(ALLOCATION_WITHIN)
  if (i < 100) scratch[i] = 1;
#elif defined(FAR_AWAY)
  if (first) seen = *reinterpret_cast<const float*>(std::uint64_t{64});  // @FAR_AWAY
#endif
  if (i < count) peers.out[peers.self][i] = seen == 1.2345f ? T(0.0f) : sum_of_inputs(peers, i);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  cudaMalloc(&scratch, 100 * sizeof(float));
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of(ctx, args.tensor, args.out, here), scratch, count);
}
void teardown(pkb::Context&) { cudaFree(scratch); }
