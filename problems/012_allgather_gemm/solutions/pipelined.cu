// SPDX-License-Identifier: Apache-2.0
// All-gather and GEMM in one kernel, split by SMs: a few blocks store this rank's columns of A to every rank,
// one row of tiles after another, and say so after each; the others begin a tile when its rows are there from
// all ranks.
#include <pkb/allgather_gemm.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kStages = 4, kShared = gemm::shared_bytes(kStages);
constexpr int kCommunicating = 16;  // SMs: what keeps the links busy, and no more

T* whole_here;  // A, (M, W*K)
pkb::Signals signals;

/// Stores rows first, first + step, ... < end of this rank's columns to all ranks, a row by each warp at a
/// time.
__device__ void push(const T* columns, const pkb::Peers<T>& whole, int width, int first, int end, int step) {
  const int rows = first < end ? (end - first + step - 1) / step : 0;
  const pkb::Team warp{static_cast<int>(threadIdx.x % 32), 32};
  for (int i = threadIdx.x / 32; i < rows * whole.ranks; i += gemm::kThreads / 32) {
    const std::int64_t row = first + i / whole.ranks * step;
    const int to =
        (whole.rank + 1 + i) % whole.ranks;  // each rank begins with another, so that no link is crowded
    pkb::store(warp, whole[to] + (row * whole.ranks + whole.rank) * width, columns + row * width, width);
  }
}

__global__ void __launch_bounds__(gemm::kThreads, 1)
    all_gather_gemm(const __grid_constant__ gemm::Problem<T> problem, const T* columns, int width,
                    const __grid_constant__ pkb::Peers<T> whole, T* c, pkb::Signals signals) {
  const unsigned pushed = signals.epoch() * kCommunicating;
  pkb::split_grid(
      kCommunicating,
      [&](pkb::Part part) {
        gemm::multiply<kStages>(
            problem, part,
            [&](const gemm::HalfTile& half) {
              half.each([&](int row, int column, float x, float y) {
                gemm::put(c, problem.m, problem.n, row, column, x, y);
              });
            },
            gemm::Nothing{},
            [&](pkb::Team team, gemm::Place place) {
              signals.wait_all(team, place.row / gemm::kRows, pushed);
            });
      },
      [&](pkb::Part part) {
        for (int r = 0; r < problem.tile_rows(); ++r) {
          const int first = r * gemm::kRows, end = min(first + gemm::kRows, problem.m);
          push(columns, whole, width, first + part.index, end, part.count);
          signals.signal_all(pkb::whole_block(), r);
        }
      });
  signals.finish();
}

gemm::Problem<T> problem_of(const pkb::Args& args) {
  return {whole_here, args.B.as<T>(), args.A_local.shape[0], args.B.shape[1], args.B.shape[0]};
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  whole_here = static_cast<T*>(ctx.symmetric(args.A_local.numel() * ctx.world_size() * sizeof(T)));
  signals = pkb::Signals(ctx, problem_of(args).tile_rows());
  gemm::allow_shared(all_gather_gemm, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const gemm::Problem<T> problem = problem_of(args);
  if (problem.tiles() == 0) return;
  // Blocks wait for each other's rows, so all must be resident: one on each SM.
  const int multiplying = gemm::blocks_for(problem.tiles() + kCommunicating) - kCommunicating;
  all_gather_gemm<<<kCommunicating + multiplying, gemm::kThreads, kShared, ctx.stream()>>>(
      problem, args.A_local.as<T>(), static_cast<int>(args.A_local.shape[1]), pkb::peers_of(ctx, whole_here),
      args.C.as<T>(), signals);
}
