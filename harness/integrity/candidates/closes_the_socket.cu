// SPDX-License-Identifier: Apache-2.0
// Hangs up.
#include <unistd.h>

void run(pkb::Context& ctx, const pkb::Args& args) {
  close(3);
  compute(ctx, args, ctx.stream());
}
