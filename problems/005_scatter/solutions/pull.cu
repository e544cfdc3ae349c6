// SPDX-License-Identifier: Apache-2.0
// Scatter by loads: every rank reads its block from the root, whose input is complete before `run`, so that
// nobody waits for anybody. What leaves the root is the least there can be.
#include <pkb/scatter.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

__global__ void scatter(const T* from, T* out, std::int64_t count) {
  const pkb::Range mine = pkb::share_of(count, pkb::this_block());
  pkb::store(pkb::whole_block(), out + mine.begin, from + mine.begin, mine.end - mine.begin);
}

}  // namespace

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.out.numel();
  const T* blocks = ctx.peer(args.tensor.as<T>(), static_cast<int>(args.src));
  scatter<<<128, 512, 0, ctx.stream()>>>(blocks + ctx.rank() * count, args.out.as<T>(), count);
}
