// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce through staging, captured into a graph by the first run and replayed by the later ones. The
// forms differ in where the epoch comes from: the captured argument, an argument set for each run, or memory.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  unsigned epoch;
  T stage[1 << 14];
};
State* here;
unsigned epoch;
cudaGraphExec_t replay;
cudaGraphNode_t node;

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  State& own = *peers.state[peers.self];
#ifdef IN_MEMORY
  epoch = own.epoch + 1;
#endif
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    own.stage[i] = peers.input[peers.self][i];  // @stage
  meet(peers, epoch);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.state[r]->stage[i]);  // @sum
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}
__global__ void advance(State* state) { ++state->epoch; }

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
  replay = nullptr;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  ++epoch;
  auto peers = peers_of(ctx, args.tensor, args.out, here);
  int count = static_cast<int>(args.out.numel());
  if (replay == nullptr) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal);
    all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, count, epoch);
#ifdef IN_MEMORY
    advance<<<1, 1, 0, ctx.stream()>>>(here);
#endif
    cudaStreamEndCapture(ctx.stream(), &graph);
    std::size_t nodes = 1;
    cudaGraphGetRootNodes(graph, &node, &nodes);
    cudaGraphInstantiate(&replay, graph, 0);
  }
#ifdef SET_FOR_EACH_RUN
  void* arguments[] = {&peers, &count, &epoch};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(all_reduce);
  params.gridDim = kBlocks, params.blockDim = kThreads;
  params.kernelParams = arguments;
  cudaGraphExecKernelNodeSetParams(replay, node, &params);
#endif
  cudaGraphLaunch(replay, ctx.stream());
}

void teardown(pkb::Context&) {
  if (replay != nullptr) cudaGraphExecDestroy(replay);
}
