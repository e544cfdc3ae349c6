// SPDX-License-Identifier: Apache-2.0
// All-gather, then GEMM: every rank stores its columns of A into every rank's copy of the whole A, row by
// row; when all have, the product is an ordinary one.
#include <pkb/allgather_gemm.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kStages = 4, kShared = gemm::shared_bytes(kStages), kBlocks = 64, kThreads = 256;

T* whole_here;  // A, (M, W*K)
pkb::Signals signals;

__global__ void gather(const T* columns, pkb::Peers<T> whole, int rows, int width, pkb::Signals signals) {
  for (int step = 1; step <= whole.ranks;
       ++step) {  // each rank begins with another, so that no link is crowded
    T* const to = whole[(whole.rank + step) % whole.ranks] + std::int64_t{whole.rank} * width;
    for (int row = blockIdx.x; row < rows; row += gridDim.x)
      pkb::store(pkb::whole_block(), to + std::int64_t{row} * whole.ranks * width,
                 columns + std::int64_t{row} * width, width);
  }
  signals.finish();
}

__global__ void __launch_bounds__(gemm::kThreads, 1)
    product(const __grid_constant__ gemm::Problem<T> problem, T* c) {
  gemm::multiply<kStages>(problem, pkb::this_block(), [&](const gemm::HalfTile& half) {
    half.each([&](int row, int column, float x, float y) {
      gemm::put(c, problem.m, problem.n, row, column, x, y);
    });
  });
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  whole_here = static_cast<T*>(ctx.symmetric(args.A_local.numel() * ctx.world_size() * sizeof(T)));
  signals = pkb::Signals(ctx, 0);
  gemm::allow_shared(product, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t rows = args.A_local.shape[0], width = args.A_local.shape[1];
  const gemm::Problem<T> problem(whole_here, args.B.as<T>(), rows, args.B.shape[1], args.B.shape[0]);
  if (problem.tiles() == 0) return;
  gather<<<kBlocks, kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), pkb::peers_of(ctx, whole_here),
                                                 static_cast<int>(rows), static_cast<int>(width), signals);
  product<<<gemm::blocks_for(problem.tiles()), gemm::kThreads, kShared, ctx.stream()>>>(problem,
                                                                                        args.C.as<T>());
}
