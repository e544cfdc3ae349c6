// SPDX-License-Identifier: Apache-2.0
// Two-shot all-reduce by the fabric: rank r has the switch add slice r of all inputs and store the sum to
// every rank's output, so that only 1/W of the tensor leaves a rank twice. What is no whole vector, and
// everything where the fabric has no multicast, goes by loads and stores. A rank's output is complete when
// all ranks have finished.
#include <pkb/allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

pkb::Signals signals;

__global__ void all_reduce(pkb::Peers<const T> input, pkb::Peers<T> out, std::int64_t count,
                           pkb::Signals signals) {
  const pkb::Range mine = pkb::share_of(count, {out.rank, out.ranks});
  pkb::all_reduce(pkb::whole_block(), pkb::this_block(), input, out, mine);
  signals.finish();
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args&) { signals = pkb::Signals(ctx, 0); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<64, 256, 0, ctx.stream()>>>(pkb::peers_of(ctx, args.tensor.as<const T>()),
                                           pkb::peers_of(ctx, args.out.as<T>()), args.out.numel(), signals);
}
