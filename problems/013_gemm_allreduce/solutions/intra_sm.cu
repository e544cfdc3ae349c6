// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce in one kernel, split by warps within each SM. Every tile has an owner rank. While two
// warpgroups of a block multiply, the warps beside the loader send the tile before to its owner, by the SM's
// copy engine, and, of the tiles that this rank owns, add the partial ones that have come and store the sum
// to every rank.
#include <pkb/gemm_allreduce.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kTile = gemm::kRows * gemm::kColumns;
constexpr int kWidth = pkb::Vector<T>::kWidth;
constexpr int kStages = sizeof(T) == 4 ? 2 : 3;  // beside a tile in shared memory
constexpr int kShared = gemm::shared_bytes(kStages, kTile * sizeof(T));

T* slots_here;  // [owned tile][source rank][kTile]
pkb::Signals signals;

/// A tile in shared memory and in a slot has rows of kColumns elements, whose 16-byte pieces are exchanged so
/// that neither a warp's sums nor its vectors collide in a bank.
__device__ int swizzled(int row, int column) { return column ^ row % 8 * kWidth; }

/// Adds the partial tiles in a slot and stores the sum to all ranks.
__device__ void reduce(pkb::Team team, const gemm::Problem<T>& problem, int tile, const T* slot,
                       const pkb::Peers<T>& c) {
  const gemm::Place place = problem.place(tile);
  for (int e = team.thread * kWidth; e < kTile; e += team.threads * kWidth) {
    const int row = e / gemm::kColumns, column = e % gemm::kColumns, left = problem.n - place.column - column;
    if (place.row + row >= problem.m || left <= 0) continue;
    const T* const at = slot + row * gemm::kColumns + swizzled(row, column);
    pkb::store_to_all(c, std::int64_t{place.row + row} * problem.n + place.column + column,
                      pkb::sum_of<T>(c.ranks, [&](int r) { return at + r * kTile; }), left);
  }
}

__global__ void __launch_bounds__(gemm::kThreads, 1)
    gemm_all_reduce(const __grid_constant__ gemm::Problem<T> problem,
                    const __grid_constant__ pkb::Peers<T> slots, const __grid_constant__ pkb::Peers<T> c,
                    pkb::Signals signals) {
  const pkb::HandOver pass{5, gemm::kConsumers + gemm::kCommunicators};
  const pkb::Part part = pkb::this_block();
  const unsigned epoch = signals.epoch();
  T* const tile = gemm::own_shared<T, kStages>();
  int turn = 0;
  gemm::multiply<kStages>(
      problem, part,
      [&](const gemm::HalfTile& half) {
        pass.acquire(turn++);
        half.each([&](int row, int column, float x, float y) {
          row -= half.place.row - half.half * gemm::kHalf, column -= half.place.column;
          gemm::put(tile, gemm::kRows, gemm::kColumns, row, swizzled(row, column), x, y);
        });
        pass.publish();
      },
      [&](pkb::Team team) {
        const auto slot_of = [&](int t) { return std::int64_t{t / c.ranks} * c.ranks * kTile; };
        const auto add_up = [&](int t) {
          if (t % c.ranks != c.rank) return;
          signals.wait_all(team, t / c.ranks, epoch);
          reduce(team, problem, t, slots.here() + slot_of(t), c);
        };
        for (int t = part.index; t < problem.tiles(); t += part.count) {
          const int owner = t % c.ranks;
          pass.await();
          pkb::store_async(team, slots[owner] + slot_of(t) + c.rank * kTile, tile, kTile);
          pkb::stores_read(team);
          pass.release(t + part.count >= problem.tiles());
          signals.signal(team, t / c.ranks, owner);
          if (t >= part.count) add_up(t - part.count);  // a tile late: by now the others have sent theirs
          if (t + part.count >= problem.tiles()) add_up(t);
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
  const int owned = (problem_of(args).tiles() + ctx.world_size() - 1) / ctx.world_size();
  slots_here = static_cast<T*>(ctx.symmetric(sizeof(T) * kTile * owned * ctx.world_size()));
  signals = pkb::Signals(ctx, owned);
  gemm::allow_shared(gemm_all_reduce, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const gemm::Problem<T> problem = problem_of(args);
  if (problem.tiles() == 0) return;
  // Blocks wait for each other's tiles, so all must be resident: one on each SM.
  gemm_all_reduce<<<gemm::blocks_for(problem.tiles()), gemm::kThreads, kShared, ctx.stream()>>>(
      problem, pkb::peers_of(ctx, slots_here), pkb::peers_of(ctx, args.C.as<T>()), signals);
}
