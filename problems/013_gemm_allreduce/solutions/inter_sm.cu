// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce in one kernel, split by SMs: most blocks only multiply and leave each half tile in this
// rank's memory; a few only communicate: they fetch the partial half tiles of all ranks that this rank owns,
// add them and store the sum to every rank.
#include <pkb/gemm_allreduce.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kHalfTile = gemm::kHalf * gemm::kColumns;
constexpr int kStages = 4, kShared = gemm::shared_bytes(kStages);
constexpr int kCommunicating = 16;  // SMs: what keeps the links busy, and no more

T* partial_here;  // [half tile][kHalfTile]
pkb::Signals signals;

/// Adds all ranks' partial half tile and stores the sum to all.
__device__ void reduce(pkb::Team team, const gemm::Problem<T>& problem, int half_tile,
                       const pkb::Peers<const T>& partial, const pkb::Peers<T>& c) {
  constexpr int kWidth = pkb::Vector<T>::kWidth;
  const gemm::Place place = problem.place(half_tile / 2);
  const int row0 = place.row + half_tile % 2 * gemm::kHalf;
  for (int e = team.thread * kWidth; e < kHalfTile; e += team.threads * kWidth) {
    const int row = row0 + e / gemm::kColumns, column = place.column + e % gemm::kColumns;
    if (row >= problem.m || column >= problem.n) continue;
    const std::int64_t at = std::int64_t{half_tile} * kHalfTile + e;
    pkb::store_to_all(c, std::int64_t{row} * problem.n + column,
                      pkb::sum_of<T>(c.ranks, [&](int r) { return partial[r] + at; }), problem.n - column);
  }
}

__global__ void __launch_bounds__(gemm::kThreads, 1)
    gemm_all_reduce(const __grid_constant__ gemm::Problem<T> problem,
                    const __grid_constant__ pkb::Peers<const T> partial, T* partial_here,
                    const __grid_constant__ pkb::Peers<T> c, pkb::Signals signals) {
  pkb::split_grid(
      kCommunicating,
      [&](pkb::Part part) {
        gemm::multiply<kStages>(problem, part, [&](const gemm::HalfTile& half) {
          const int number = 2 * half.tile + half.half;
          T* const to = partial_here + std::int64_t{number} * kHalfTile;
          half.each([&](int row, int column, float x, float y) {
            gemm::put(to, gemm::kHalf, gemm::kColumns, row - half.place.row, column - half.place.column, x,
                      y);
          });
          signals.signal(half.team, number, number % c.ranks);
        });
      },
      [&](pkb::Part part) {
        const pkb::Team block = pkb::whole_block();
        const unsigned epoch = signals.epoch();
        for (int h = c.rank + part.index * c.ranks; h < 2 * problem.tiles(); h += part.count * c.ranks) {
          signals.wait_all(block, h, epoch);
          reduce(block, problem, h, partial, c);
        }
      });
  signals.finish();
}

gemm::Problem<T> problem_of(const pkb::Args& args) {
  return {args.A_local.as<T>(), args.B_local.as<T>(), args.C.shape[0], args.C.shape[1],
          args.A_local.shape[1]};
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const int halves = 2 * problem_of(args).tiles();
  partial_here = static_cast<T*>(ctx.symmetric(sizeof(T) * kHalfTile * halves));
  signals = pkb::Signals(ctx, halves);
  gemm::allow_shared(gemm_all_reduce, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const gemm::Problem<T> problem = problem_of(args);
  if (problem.tiles() == 0) return;
  const int multiplying = gemm::blocks_for(problem.tiles() + kCommunicating) - kCommunicating;
  gemm_all_reduce<<<kCommunicating + multiplying, gemm::kThreads, kShared, ctx.stream()>>>(
      problem, pkb::peers_of<const T>(ctx, partial_here), partial_here, pkb::peers_of(ctx, args.C.as<T>()),
      signals);
}
