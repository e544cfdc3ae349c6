// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce that reads peers through memory handles, which setup passes on in symmetric memory. A handle
// opens the allocation that its pointer lies in, from its start; the forms differ in what the handle is made of.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  cudaIpcMemHandle_t handles[kMaxRanks];
  T stage[1 << 14];
};
struct Stages {
  T* of[kMaxRanks];
};
State* here;
void* opened[kMaxRanks];
Stages stages;
unsigned epoch;

__global__ void all_reduce(Peers<State> peers, Stages stages, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    stages.of[peers.self][i] = peers.input[peers.self][i];
  meet(peers, epoch);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(stages.of[r][i]);
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
#ifdef HANDLE_OF_MEMBER
  void* const shown = here->stage;
#else
  void* const shown = here;
#endif
  cudaIpcMemHandle_t handle;
  cudaIpcGetMemHandle(&handle, shown);
  for (int r = 0; r < ctx.world_size(); ++r)
    cudaMemcpy(&ctx.peer(here, r)->handles[ctx.rank()], &handle, sizeof handle, cudaMemcpyHostToDevice);
  ctx.barrier();
  for (int r = 0; r < ctx.world_size(); ++r) {
    opened[r] = shown;
    cudaMemcpy(&handle, &here->handles[r], sizeof handle, cudaMemcpyDeviceToHost);
    if (r != ctx.rank()) cudaIpcOpenMemHandle(&opened[r], handle, cudaIpcMemLazyEnablePeerAccess);
#ifdef HANDLE_OF_MEMBER
    stages.of[r] = static_cast<T*>(opened[r]);
#else
    stages.of[r] = static_cast<State*>(opened[r])->stage;
#endif
  }
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here), stages,
                                                     static_cast<int>(args.out.numel()), ++epoch);
}

void teardown(pkb::Context& ctx) {
  for (int r = 0; r < ctx.world_size(); ++r)
    if (r != ctx.rank()) cudaIpcCloseMemHandle(opened[r]);
}
