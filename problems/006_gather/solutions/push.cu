// SPDX-License-Identifier: Apache-2.0
// Gather by stores: every rank writes its block into the root's output. Stores need no answer, so they keep a
// link busier than loads do, but the root must learn when all have arrived, and `finish` tells it.
#include <pkb/gather.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

pkb::Signals signals;

__global__ void gather(const T* block, T* to, std::int64_t count, pkb::Signals signals) {
  const pkb::Range mine = pkb::share_of(count, pkb::this_block());
  pkb::store(pkb::whole_block(), to + mine.begin, block + mine.begin, mine.end - mine.begin);
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) { signals = pkb::Signals(ctx, 0); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.tensor.numel();
  T* blocks = ctx.peer(args.out.as<T>(), static_cast<int>(args.dst));
  gather<<<128, 512, 0, ctx.stream()>>>(args.tensor.as<T>(), blocks + ctx.rank() * count, count, signals);
}
