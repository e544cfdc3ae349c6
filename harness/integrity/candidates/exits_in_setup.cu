// SPDX-License-Identifier: Apache-2.0
// Ends the process in setup; the number of ranks says how.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

static void leave(int how) {
  switch (how) {
    case 1: std::exit(0);
    case 2: _exit(0);
    case 3: std::quick_exit(0);
    case 4: std::abort();
    default: raise(SIGKILL);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) { leave(ctx.world_size()); }
void run(pkb::Context& ctx, const pkb::Args& args) { compute(ctx, args, ctx.stream()); }
