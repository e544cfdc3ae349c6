// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce by copy engines: they bring slice r of all inputs to rank r, a kernel adds, and they
// carry the sum to every rank's output. No SM moves anything over a link. Inputs are complete before `run`,
// so the first copies wait for nobody; a rank's output is complete when all ranks have finished.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

T* slices_here;  // slice r of every rank
std::int64_t pitch;
pkb::Signals signals;

__global__ void add(pkb::Peers<const T> slices, std::int64_t count, T* sum) {
  pkb::reduce(pkb::whole_block(), pkb::this_block(), slices, {0, count}, sum);
}
__global__ void finish(pkb::Signals signals) { signals.finish(); }

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  pitch = pkb::share_of(args.out.numel(), {0, ctx.world_size()}).end;
  slices_here = static_cast<T*>(ctx.symmetric(sizeof(T) * pitch * ctx.world_size()));
  signals = pkb::Signals(ctx, 0);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int rank = ctx.rank(), ranks = ctx.world_size();
  const pkb::Range mine = pkb::share_of(args.out.numel(), {rank, ranks});
  const std::int64_t count = mine.end - mine.begin;
  T* const sum = args.out.as<T>() + mine.begin;
  const auto copy = [&](T* to, const T* from) {
    cudaMemcpyAsync(to, from, count * sizeof(T), cudaMemcpyDeviceToDevice, ctx.stream());
  };
  if (count > 0) {
    pkb::Peers<const T> slices;  // not of the peers, but brought from them
    slices.ranks = ranks;
    for (int r = 0; r < ranks; ++r) {
      slices.of_rank[r] = slices_here + r * pitch;
      copy(slices_here + r * pitch, ctx.peer(args.tensor.as<T>(), r) + mine.begin);
    }
    add<<<128, 512, 0, ctx.stream()>>>(slices, count, sum);
    for (int step = 1; step < ranks; ++step) copy(ctx.peer(sum, (rank + step) % ranks), sum);
  }
  finish<<<1, 32, 0, ctx.stream()>>>(signals);
}
