// SPDX-License-Identifier: Apache-2.0
// Never finishes being loaded.
#include <unistd.h>

[[gnu::constructor]] static void wait_for_ever() {
  for (;;) pause();
}

void run(pkb::Context& ctx, const pkb::Args& args) { compute(ctx, args, ctx.stream()); }
