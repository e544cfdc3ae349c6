// SPDX-License-Identifier: Apache-2.0
// Rank 0 calls symmetric() once more than the others.
#include <pkb/allreduce.h>

void setup(pkb::Context& ctx, const pkb::Args&) {
  ctx.symmetric(256);
  if (ctx.rank() == 0) ctx.symmetric(256);
}

void run(pkb::Context&, const pkb::Args&) {}
