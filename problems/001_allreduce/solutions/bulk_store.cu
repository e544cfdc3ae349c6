// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce by bulk stores: the copy engine of each SM carries tiles of the input from shared
// memory to the rank that owns them; the owner adds and sends the sums out the same way. One thread keeps
// kilobytes in flight, so few SMs fill a link. A rank's output is complete when all ranks have finished.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kTile = 4096 / sizeof(T),
              kTogether = 4;  // tiles that a block sends before it waits for their arrival
constexpr int kBlocks = 32, kThreads = 256;

T* slots_here;  // [owned tile][source rank][kTile]
pkb::Signals signals;

__global__ void all_reduce(const T* in, pkb::Peers<T> slots, pkb::Peers<T> out, std::int64_t count,
                           pkb::Signals signals) {
  __shared__ alignas(128) T tile[kTogether][kTile];
  const pkb::Team block = pkb::whole_block();
  const unsigned epoch = signals.epoch();
  const auto each_group = [&](auto&& of_tile) {  // of this block's tiles: of_tile(tile, number in its group)
    for (std::int64_t first = blockIdx.x * kTogether; first * kTile < count; first += gridDim.x * kTogether)
      for (int i = 0; i < kTogether && (first + i) * kTile < count; ++i) of_tile(first + i, i);
  };
  const auto width_of = [&](std::int64_t t) {
    return static_cast<int>(min(count - t * kTile, std::int64_t{kTile}));
  };
  const auto slot_of = [&](std::int64_t t) { return t / out.ranks * out.ranks * kTile; };

  each_group([&](std::int64_t t, int i) {
    if (i == 0) pkb::stores_read(block);
    pkb::store(block, tile[i], in + t * kTile, width_of(t));
    pkb::store_async(block, slots[t % out.ranks] + slot_of(t) + out.rank * kTile, tile[i], width_of(t));
    if (i < kTogether - 1 && (t + 1) * kTile < count) return;
    for (std::int64_t sent = t - i; sent <= t; ++sent)
      signals.signal(block, sent / out.ranks, sent % out.ranks);
  });
  each_group([&](std::int64_t t, int i) {
    if (i == 0) pkb::stores_read(block);
    if (t % out.ranks != out.rank) return;
    signals.wait_all(block, t / out.ranks, epoch);
    constexpr int kWidth = pkb::Vector<T>::kWidth;
    for (int e = block.thread * kWidth; e < kTile; e += block.threads * kWidth)
      *reinterpret_cast<pkb::Vector<T>*>(&tile[i][e]) =
          pkb::sum_of<T>(out.ranks, [&](int r) { return slots.here() + slot_of(t) + r * kTile + e; });
    for (int step = 1; step <= out.ranks; ++step)
      pkb::store_async(block, out[(out.rank + step) % out.ranks] + t * kTile, tile[i], width_of(t));
  });
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t tiles = (args.out.numel() + kTile - 1) / kTile;
  const int owned = static_cast<int>((tiles + ctx.world_size() - 1) / ctx.world_size());
  slots_here = static_cast<T*>(ctx.symmetric(sizeof(T) * kTile * owned * ctx.world_size()));
  signals = pkb::Signals(ctx, owned);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(args.tensor.as<T>(), pkb::peers_of(ctx, slots_here),
                                                     pkb::peers_of(ctx, args.out.as<T>()), args.out.numel(),
                                                     signals);
}
