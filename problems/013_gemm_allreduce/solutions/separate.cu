// SPDX-License-Identifier: Apache-2.0
// GEMM, then all-reduce: the first kernel leaves the partial product in symmetric memory; the second meets
// its peers, adds its share of all partial products and stores the sums to every rank.
#include <pkb/gemm_allreduce.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kStages = 4, kShared = gemm::shared_bytes(kStages), kBlocks = 64, kThreads = 512;

T* partial_here;
pkb::Signals signals;

__global__ void __launch_bounds__(gemm::kThreads, 1)
    product(const __grid_constant__ gemm::Problem<T> problem, T* partial) {
  gemm::multiply<kStages>(problem, pkb::this_block(), [&](const gemm::HalfTile& half) {
    half.each([&](int row, int column, float x, float y) {
      gemm::put(partial, problem.m, problem.n, row, column, x, y);
    });
  });
}

__global__ void all_reduce(pkb::Peers<const T> partial, pkb::Peers<T> c, std::int64_t count,
                           pkb::Signals signals) {
  const pkb::Team block = pkb::whole_block();
  signals.barrier(
      block, blockIdx.x);  // the product of this rank is complete, being another kernel; now of all ranks
  pkb::all_reduce(block, pkb::this_block(), partial, c, pkb::share_of(count, {c.rank, c.ranks}));
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  partial_here = static_cast<T*>(ctx.symmetric(args.C.numel() * sizeof(T)));
  signals = pkb::Signals(ctx, kBlocks);
  gemm::allow_shared(product, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const gemm::Problem<T> problem(args.A_local.as<T>(), args.B_local.as<T>(), args.C.shape[0], args.C.shape[1],
                                 args.A_local.shape[1]);
  if (problem.tiles() == 0) return;
  product<<<gemm::blocks_for(problem.tiles()), gemm::kThreads, kShared, ctx.stream()>>>(problem,
                                                                                        partial_here);
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(
      pkb::peers_of<const T>(ctx, partial_here), pkb::peers_of(ctx, args.C.as<T>()), args.C.numel(), signals);
}
