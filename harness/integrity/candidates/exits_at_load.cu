// SPDX-License-Identifier: Apache-2.0
// Ends the process while its library is being loaded.
#include <unistd.h>

[[gnu::constructor]] static void leave() { _exit(0); }

void run(pkb::Context& ctx, const pkb::Args& args) { compute(ctx, args, ctx.stream()); }
