// SPDX-License-Identifier: Apache-2.0
// Asks for symmetric memory without end.
#include <pkb/allreduce.h>

void setup(pkb::Context& ctx, const pkb::Args&) {
  for (;;) ctx.symmetric(1);
}

void run(pkb::Context&, const pkb::Args&) {}
