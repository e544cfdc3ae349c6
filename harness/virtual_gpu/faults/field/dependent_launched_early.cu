// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce in two kernels. The first packs the staging area and lets its dependent start at once; the
// second is launched with programmatic serialisation. Waiting for the prerequisite grid covers its completion and
// its stores, however early the trigger; the forms differ in whether the second kernel waits.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  T stage[1 << 14];
};
State* here;
unsigned epoch;

__global__ void pack(Peers<State> peers, int count) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    peers.state[peers.self]->stage[i] = peers.input[peers.self][i];  // @pack
}

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
#ifdef WAITS
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  meet(peers, epoch);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.state[r]->stage[i]);  // @sum
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  pack<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, count);
  cudaLaunchAttribute serialised{};
  serialised.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  serialised.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = kBlocks, config.blockDim = kThreads, config.stream = ctx.stream();
  config.attrs = &serialised, config.numAttrs = 1;
  cudaLaunchKernelEx(&config, all_reduce, peers, count, ++epoch);
}
