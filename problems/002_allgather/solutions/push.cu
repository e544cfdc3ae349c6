// SPDX-License-Identifier: Apache-2.0
// All-gather by stores: every rank writes its block into every rank's output; a rank is done when all have
// finished. A block starts at rank * M * N elements, which may be odd: `store` takes the widest accesses that
// addresses allow.
#include <pkb/allgather.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

pkb::Signals signals;

__global__ void all_gather(const T* block, pkb::Peers<T> out, std::int64_t count, pkb::Signals signals) {
  const pkb::Range mine = pkb::share_of(count, pkb::this_block());
  for (int step = 1; step <= out.ranks;
       ++step) {  // each rank begins with another, so that no link is crowded
    T* const to = out[(out.rank + step) % out.ranks] + out.rank * count;
    pkb::store(pkb::whole_block(), to + mine.begin, block + mine.begin, mine.end - mine.begin);
  }
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) { signals = pkb::Signals(ctx, 0); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_gather<<<64, 256, 0, ctx.stream()>>>(args.tensor.as<const T>(), pkb::peers_of(ctx, args.out.as<T>()),
                                           args.tensor.numel(), signals);
}
