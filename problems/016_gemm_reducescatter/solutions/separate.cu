// SPDX-License-Identifier: Apache-2.0
// GEMM, then reduce-scatter: the first kernel leaves the partial product in symmetric memory; the second meets its peers and
// adds its row block of all partial products.
#include <pkb/gemm_reducescatter.h>
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

__global__ void reduce_scatter(pkb::Peers<const T> partial, T* c, std::int64_t block, pkb::Signals signals) {
  const pkb::Team team = pkb::whole_block();
  signals.barrier(team, blockIdx.x);  // the product of this rank is complete, being another kernel; now of all ranks
  pkb::reduce(team, pkb::this_block(), partial, {partial.rank * block, (partial.rank + 1) * block}, c);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  partial_here = static_cast<T*>(ctx.symmetric(args.C_local.numel() * ctx.world_size() * sizeof(T)));
  signals = pkb::Signals(ctx, kBlocks);
  gemm::allow_shared(product, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const gemm::Problem<T> problem(args.A_local.as<T>(), args.B_local.as<T>(), args.A_local.shape[0], args.B_local.shape[1],
                                 args.A_local.shape[1]);
  if (problem.tiles() == 0) return;
  product<<<gemm::blocks_for(problem.tiles()), gemm::kThreads, kShared, ctx.stream()>>>(problem, partial_here);
  reduce_scatter<<<kBlocks, kThreads, 0, ctx.stream()>>>(pkb::peers_of<const T>(ctx, partial_here), args.C_local.as<T>(),
                                                         args.C_local.numel(), signals);
}
