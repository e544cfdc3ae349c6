// SPDX-License-Identifier: Apache-2.0
// Leaves the worker no descriptor for what the judge sends next.
#include <fcntl.h>

void setup(pkb::Context& ctx, const pkb::Args&) {
  int opened = 0;
  while (opened < 100'000 && open("/dev/null", O_RDONLY) >= 0) ++opened;
  if (opened == 100'000) reached("descriptors without end");
  ctx.symmetric(256);
}
void run(pkb::Context& ctx, const pkb::Args& args) { compute(ctx, args, ctx.stream()); }
