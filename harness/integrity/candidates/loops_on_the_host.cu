// SPDX-License-Identifier: Apache-2.0
// Host code without end, hidden from those who look and deaf to signals that ask; the number of ranks says where: 1 setup, 2 run, 3 teardown.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

static void wait_for_ever() {
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, 0);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  for (;;) pause();
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  if (ctx.world_size() == 1) wait_for_ever();
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  compute(ctx, args, ctx.stream());
  if (ctx.world_size() == 2) wait_for_ever();
}
void teardown(pkb::Context& ctx) {
  if (ctx.world_size() == 3) wait_for_ever();
}
