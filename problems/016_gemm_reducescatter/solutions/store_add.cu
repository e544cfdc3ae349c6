// SPDX-License-Identifier: Apache-2.0
// GEMM and reduce-scatter in one kernel, split by warps within each SM: while two warpgroups multiply, the
// warps beside the loader add the tile before to its rows' owners. Nobody reads a peer's memory, and no
// partial product is kept.
#include <pkb/gemm_reducescatter.h>
#include <pkb/gemm.cuh>

namespace {

using pkb::T;
namespace gemm = pkb::gemm;
constexpr int kPitch =
    gemm::kColumns + (sizeof(T) == 4 ? 0 : 8);   // keeps rows off each other's banks, where there is room
constexpr int kStages = sizeof(T) == 4 ? 2 : 3;  // beside a tile in shared memory
constexpr int kShared = gemm::shared_bytes(kStages, gemm::kRows* kPitch * sizeof(T));
enum Slot { kCleared, kSlots };

pkb::Signals signals;

/// Adds a tile in shared memory to the rows of C, a row by each warp at a time. Rank r owns rows r*rows to (r
/// + 1)*rows - 1.
__device__ void add_to_owners(pkb::Team team, const gemm::Problem<T>& problem, gemm::Place place,
                              const T* tile, const pkb::Peers<T>& c, int rows) {
  const pkb::Team warp{team.thread % 32, 32};
  const int columns = min(gemm::kColumns, problem.n - place.column);
  for (int i = team.thread / 32; i < min(gemm::kRows, problem.m - place.row); i += team.threads / 32) {
    const int row = place.row + i;
    T* const to = c[row / rows] + std::int64_t{row % rows} * problem.n + place.column;
    pkb::add(warp, to, tile + i * kPitch, columns);
  }
}

__global__ void __launch_bounds__(gemm::kThreads, 1)
    gemm_reduce_scatter(const __grid_constant__ gemm::Problem<T> problem,
                        const __grid_constant__ pkb::Peers<T> c, int rows, pkb::Signals signals) {
  const pkb::HandOver pass{5, gemm::kConsumers + gemm::kCommunicators};
  const pkb::Part part = pkb::this_block();
  const unsigned cleared = signals.epoch() * part.count;
  T* const tile = gemm::own_shared<T, kStages>();
  int turn = 0;
  gemm::multiply<kStages>(
      problem, part,
      [&](const gemm::HalfTile& half) {
        pass.acquire(turn++);
        half.each([&](int row, int column, float x, float y) {
          row -= half.place.row - half.half * gemm::kHalf, column -= half.place.column;
          gemm::put(tile, gemm::kRows, kPitch, row, column, x, y);
        });
        pass.publish();
      },
      [&](pkb::Team team) {
        const pkb::Range own = pkb::share_of(std::int64_t{rows} * problem.n, part);
        for (std::int64_t i = own.begin + team.thread; i < own.end; i += team.threads) c.here()[i] = T(0.0f);
        signals.signal_all(team, kCleared);
        signals.wait_all(team, kCleared, cleared);  // the first tile is being multiplied meanwhile
        for (int t = part.index; t < problem.tiles(); t += part.count) {
          pass.await();
          add_to_owners(team, problem, problem.place(t), tile, c, rows);
          pass.release(t + part.count >= problem.tiles());
        }
      });
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) {
  signals = pkb::Signals(ctx, kSlots);
  gemm::allow_shared(gemm_reduce_scatter, kShared);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t rows = args.C_local.shape[0];
  const gemm::Problem<T> problem(args.A_local.as<T>(), args.B_local.as<T>(), args.A_local.shape[0],
                                 args.B_local.shape[1], args.A_local.shape[1]);
  if (problem.tiles() == 0) return;
  // Blocks wait until all have cleared their share, so all must be resident: one on each SM.
  gemm_reduce_scatter<<<gemm::blocks_for(problem.tiles()), gemm::kThreads, kShared, ctx.stream()>>>(
      problem, pkb::peers_of(ctx, args.C_local.as<T>()), static_cast<int>(rows), signals);
}
