// SPDX-License-Identifier: Apache-2.0
// All-to-all by stores: rank r writes its block d into block r of rank d's output; a rank is done when all
// have finished. A block of M * N elements may start at an odd one: `store` takes the widest accesses that
// addresses allow.
#include <pkb/alltoall.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

pkb::Signals signals;

__global__ void all_to_all(const T* input, pkb::Peers<T> out, std::int64_t count, pkb::Signals signals) {
  const pkb::Range mine = pkb::share_of(count, pkb::this_block());
  for (int step = 1; step <= out.ranks;
       ++step) {  // each rank begins with another, so that no link is crowded
    const int peer = (out.rank + step) % out.ranks;
    pkb::store(pkb::whole_block(), out[peer] + out.rank * count + mine.begin,
               input + peer * count + mine.begin, mine.end - mine.begin);
  }
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) { signals = pkb::Signals(ctx, 0); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_to_all<<<64, 256, 0, ctx.stream()>>>(args.tensor.as<const T>(), pkb::peers_of(ctx, args.out.as<T>()),
                                           args.out.numel() / ctx.world_size(), signals);
}
