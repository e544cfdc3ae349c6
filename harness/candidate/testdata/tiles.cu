// SPDX-License-Identifier: Apache-2.0
// All-reduce by tiles that every rank sends to every rank, in each way that <pkb/device.cuh> offers. Where
// tiles are added, each is sent twice by halves, into slots that are cleared again once they have been read.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

#if defined(ADD) || defined(ADD_ASYNC) || defined(ADD_TENSOR)
using Element = float;
constexpr bool kAdds = true;
#else
using Element = pkb::T;
constexpr bool kAdds = false;
#endif
constexpr int kRows = 16, kColumns = 64, kTile = kRows * kColumns, kBlocks = 4, kThreads = 128, kMost = 8;

struct Maps {
  pkb::TensorMap of_rank[kMost];
};
Maps maps;
Element* slots_here;
pkb::Signals signals;

__global__ void all_reduce(pkb::Peers<Element> slots, const __grid_constant__ Maps maps, const pkb::T* in,
                           pkb::T* out, int count, int tiles, pkb::Signals signals) {
  __shared__ alignas(128) Element tile[kTile];
  const pkb::Team block = pkb::whole_block();
  const unsigned epoch = signals.epoch();
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    for (int i = block.thread; i < kTile; i += block.threads) {
      const float value = t * kTile + i < count ? static_cast<float>(in[t * kTile + i]) : 0;
      tile[i] = static_cast<Element>(kAdds ? value / 2 : value);
    }
    block.sync();
    for (int step = 0; step < slots.ranks; ++step) {
      const int to = (slots.rank + step) % slots.ranks, first = (slots.rank * tiles + t) * kRows;
      Element* const slot = slots[to] + first * kColumns;
      const pkb::Tile<Element> target{slot, kRows, kColumns, kColumns};
      const pkb::Tile<const Element> source{tile, kRows, kColumns, kColumns};
      for (int time = 0; time < (kAdds ? 2 : 1); ++time) {
#if defined(STORE)
        pkb::store(block, target, source);
#elif defined(ADD)
        pkb::add(block, slots[to] + t * kTile, tile, kTile);  // all ranks into one slot
#elif defined(STORE_ASYNC)
        pkb::store_async(block, target, source);
#elif defined(ADD_ASYNC)
        pkb::add_async(block, slot, tile, kTile);
#elif defined(STORE_TENSOR)
        pkb::store_async(block, maps.of_rank[to], first, 0, tile);
#elif defined(ADD_TENSOR)
        pkb::add_async(block, maps.of_rank[to], first, 0, tile);
#endif
      }
    }
    pkb::stores_read(block);
    signals.signal_all(block, t);
  }
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    signals.wait_all(block, t, epoch);
    for (int i = block.thread; i < kTile; i += block.threads) {
      float sum = 0;
      for (int r = 0; r < slots.ranks; ++r) {
        Element& slot = slots.here()[(r * tiles + t) * kTile + i];
        sum += static_cast<float>(slot);
        if (kAdds) slot = 0;
      }
      if (t * kTile + i < count) out[t * kTile + i] = static_cast<pkb::T>(sum);
    }
  }
  signals.finish();
}

int tiles_of(const pkb::Args& args) { return static_cast<int>((args.out.numel() + kTile - 1) / kTile); }

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  const int tiles = tiles_of(args), ranks = ctx.world_size();
  signals = pkb::Signals(ctx, tiles);
  slots_here = static_cast<Element*>(ctx.symmetric(sizeof(Element) * kTile * tiles * ranks));
  for (int r = 0; r < ranks; ++r)
    pkb::make_tensor_map(maps.of_rank[r], ctx.peer(slots_here, r), ranks * tiles * kRows, kColumns,
                         {kRows, kColumns});
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(
      pkb::peers_of(ctx, slots_here), maps, args.tensor.as<pkb::T>(), args.out.as<pkb::T>(),
      static_cast<int>(args.out.numel()), tiles_of(args), signals);
}
