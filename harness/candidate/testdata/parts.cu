// SPDX-License-Identifier: Apache-2.0
// All-reduce by a kernel of two parts: one prepares tiles, the other exchanges them with the other ranks.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kTile = 512, kCompute = 128, kThreads = 192, kCommunicating = 2, kBlocks = 5;

float* slots_here;
pkb::Signals signals;

__device__ float input(const T* in, std::int64_t i, std::int64_t count) {
  return i < count ? static_cast<float>(in[i]) : 0;
}
__device__ void add_slots(pkb::Team team, const float* slots, int ranks, std::int64_t stride,
                          std::int64_t first, T* out, std::int64_t count) {
  for (std::int64_t i = first + team.thread; i < min(first + kTile, count); i += team.threads) {
    float sum = 0;
    for (int r = 0; r < ranks; ++r) sum += slots[r * stride + i];
    out[i] = static_cast<T>(sum);
  }
}

__global__ void all_reduce(pkb::Peers<float> slots, const T* in, pkb::Peers<T> out, std::int64_t count,
                           int tiles, pkb::Signals signals) {
  const unsigned epoch = signals.epoch();
  const std::int64_t stride = std::int64_t{tiles} * kTile;
#ifdef SPLIT_BLOCK
  // Two tiles in shared memory change hands; the last warps send them to all ranks and add what has come.
  __shared__ alignas(128) float tile[2][kTile];
  const pkb::HandOver pass[2] = {{3, kThreads}, {5, kThreads}};
  pkb::split_block<kCompute>(
      [&](pkb::Team team) {
        for (int t = blockIdx.x, n = 0; t < tiles; t += gridDim.x, ++n) {
          pass[n % 2].acquire(n / 2);
          for (int i = team.thread; i < kTile; i += team.threads)
            tile[n % 2][i] = input(in, std::int64_t{t} * kTile + i, count);
          pass[n % 2].publish();
        }
      },
      [&](pkb::Team team) {
        for (int t = blockIdx.x, n = 0; t < tiles; t += gridDim.x, ++n) {
          pass[n % 2].await();
          for (int r = 0; r < slots.ranks; ++r)
            pkb::store_async(team, slots[r] + slots.rank * stride + std::int64_t{t} * kTile, tile[n % 2],
                             kTile);
          pkb::stores_read(team);
          pass[n % 2].release(t + 2 * static_cast<int>(gridDim.x) >= tiles);
          signals.signal_all(team, t);
        }
        for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
          signals.wait_all(team, t, epoch);
          add_slots(team, slots.here(), slots.ranks, stride, std::int64_t{t} * kTile, out.here(), count);
        }
      });
#else
  // The first blocks send every tile that the others have prepared, and add tiles that have come.
  const pkb::Team block = pkb::whole_block();
  pkb::split_grid(
      kCommunicating,
      [&](pkb::Part part) {
        for (int t = part.index; t < tiles; t += part.count) {
          for (int i = block.thread; i < kTile; i += block.threads)
            slots.here()[slots.ranks * stride + std::int64_t{t} * kTile + i] =
                input(in, std::int64_t{t} * kTile + i, count);
          signals.signal(block, tiles + t, slots.rank);
        }
      },
      [&](pkb::Part part) {
        for (int t = part.index; t < tiles; t += part.count) {
          signals.wait(block, tiles + t, slots.rank, epoch);
          const float* prepared = slots.here() + slots.ranks * stride + std::int64_t{t} * kTile;
          for (int r = 0; r < slots.ranks; ++r)
            pkb::store(block, slots[r] + slots.rank * stride + std::int64_t{t} * kTile, prepared, kTile);
          signals.signal_all(block, t);
        }
        for (int t = part.index; t < tiles; t += part.count) {
          signals.wait_all(block, t, epoch);
          add_slots(block, slots.here(), slots.ranks, stride, std::int64_t{t} * kTile, out.here(), count);
        }
      });
#endif
  signals.finish();
}

int tiles_of(const pkb::Args& args) { return static_cast<int>((args.out.numel() + kTile - 1) / kTile); }

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const int tiles = tiles_of(args);
  signals = pkb::Signals(ctx, 2 * tiles);
  slots_here = static_cast<float*>(ctx.symmetric(sizeof(float) * kTile * tiles * (ctx.world_size() + 1)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(pkb::peers_of(ctx, slots_here), args.tensor.as<T>(),
                                                     pkb::peers_of(ctx, args.out.as<T>()), args.out.numel(),
                                                     tiles_of(args), signals);
}
