// SPDX-License-Identifier: Apache-2.0
// All-reduce through a staging buffer, by each way in which <pkb/device.cuh> lets ranks meet and add.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kBlocks = 4, kThreads = 128, kRounds = 3;

T* stage_here;
pkb::Signals signals;
cudaGraphExec_t replay;

__device__ void copy(pkb::Team team, T* to, const T* from, pkb::Range range) {
  pkb::store(team, to + range.begin, from + range.begin, range.end - range.begin);
}
__device__ void sum_up(pkb::Team team, const pkb::Peers<T>& stage, T* out, pkb::Range range) {
  for (std::int64_t i = range.begin + team.thread; i < range.end; i += team.threads) {
    float sum = 0;
    for (int r = 0; r < stage.ranks; ++r) sum += static_cast<float>(stage[r][i]);
    out[i] = static_cast<T>(sum);
  }
}
__global__ void all_reduce(pkb::Peers<T> stage, pkb::Peers<const T> staged, const T* in, pkb::Peers<T> out,
                           std::int64_t count, pkb::Signals signals) {
  const pkb::Team block = pkb::whole_block();
  const pkb::Part part = pkb::this_block();
  const pkb::Range mine = pkb::share_of(count, part);
  [[maybe_unused]] const int slot = part.index;
  [[maybe_unused]] const unsigned epoch = signals.epoch();
#if defined(SIGNAL)
  copy(block, stage.here(), in, mine);
  for (int r = 0; r < stage.ranks; ++r) signals.signal(block, slot, r);
  for (int r = 0; r < stage.ranks; ++r) signals.wait(block, slot, r, epoch);
  sum_up(block, stage, out.here(), mine);
#elif defined(SIGNAL_ALL)
  copy(block, stage.here(), in, mine);
  signals.signal_all(block, slot);
  signals.wait_all(block, slot, epoch);
  sum_up(block, stage, out.here(), mine);
#elif defined(BARRIER) || defined(GRAPH)
  // One piece of the stage for all rounds.
  for (int round = 0; round < kRounds; ++round) {
    pkb::Range piece = pkb::share_of(mine.end - mine.begin, {round, kRounds});
    piece = {mine.begin + piece.begin, mine.begin + piece.end};
    T* const shifted = stage.here() + mine.begin - piece.begin;
    copy(block, shifted, in, piece);
    signals.barrier(block, slot);
    for (std::int64_t i = piece.begin + block.thread; i < piece.end; i += block.threads) {
      float sum = 0;
      for (int r = 0; r < stage.ranks; ++r) sum += static_cast<float>(stage[r][mine.begin + i - piece.begin]);
      out.here()[i] = static_cast<T>(sum);
    }
    signals.barrier(block, slot);
  }
#elif defined(FINISH)
  // Each rank's stage gets a block from every rank; what follows on the stream sees them all.
  for (int r = 0; r < stage.ranks; ++r) copy(block, stage[r] + stage.rank * count, in, mine);
#elif defined(REDUCE) || defined(REDUCE_BY_FABRIC)
  copy(block, stage.here(), in, mine);
  signals.barrier(block, slot);
  pkb::reduce(block, pkb::Part{}, staged, mine, out.here() + mine.begin);
#else
  copy(block, stage.here(), in, mine);
  signals.barrier(block, slot);
  const pkb::Range share = pkb::share_of(mine.end - mine.begin, {stage.rank, stage.ranks});
  pkb::all_reduce(block, pkb::Part{}, staged, out, {mine.begin + share.begin, mine.begin + share.end});
#endif
  signals.finish();
}

__global__ void add_blocks(const T* blocks, int ranks, T* out, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int r = 0; r < ranks; ++r) sum += static_cast<float>(blocks[r * count + i]);
  out[i] = static_cast<T>(sum);
}

void enqueue(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.out.numel();
  auto staged = pkb::peers_of<const T>(ctx, stage_here);
#if defined(REDUCE) || defined(ALL_REDUCE)
  staged.multicast = nullptr;
#endif
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(pkb::peers_of(ctx, stage_here), staged,
                                                     args.tensor.as<T>(),
                                                     pkb::peers_of(ctx, args.out.as<T>()), count, signals);
#ifdef FINISH
  add_blocks<<<static_cast<int>((count + kThreads - 1) / kThreads), kThreads, 0, ctx.stream()>>>(
      stage_here, ctx.world_size(), args.out.as<T>(), count);
#endif
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  signals = pkb::Signals(ctx, kBlocks);
  stage_here = static_cast<T*>(ctx.symmetric(args.out.numel() * ctx.world_size() * sizeof(T)));
  replay = nullptr;
}

void run(pkb::Context& ctx, const pkb::Args& args) {
#ifdef GRAPH
  if (replay == nullptr) {
    cudaGraph_t graph;
    cudaStreamBeginCapture(ctx.stream(), cudaStreamCaptureModeThreadLocal);
    enqueue(ctx, args);
    cudaStreamEndCapture(ctx.stream(), &graph);
    cudaGraphInstantiate(&replay, graph, 0);
  }
  cudaGraphLaunch(replay, ctx.stream());
#else
  enqueue(ctx, args);
#endif
}

void teardown(pkb::Context&) {
  if (replay != nullptr) cudaGraphExecDestroy(replay);
}
