// SPDX-License-Identifier: Apache-2.0
// Broadcast by loads: every rank reads the root's matrix, which is complete before `run`, so that nobody
// waits for anybody. The root's link carries W - 1 copies.
#include <pkb/broadcast.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;

__global__ void broadcast(const T* from, T* out, std::int64_t count) {
  const pkb::Range mine = pkb::share_of(count, pkb::this_block());
  pkb::store(pkb::whole_block(), out + mine.begin, from + mine.begin, mine.end - mine.begin);
}

}  // namespace

void run(pkb::Context& ctx, const pkb::Args& args) {
  const T* from = ctx.peer(args.tensor.as<T>(), static_cast<int>(args.src));
  broadcast<<<128, 512, 0, ctx.stream()>>>(from, args.out.as<T>(), args.out.numel());
}
