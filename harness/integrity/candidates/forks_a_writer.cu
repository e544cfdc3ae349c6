// SPDX-License-Identifier: Apache-2.0
// A process of its own, which shares the memory of the outputs and writes to it after the answer.
#include <unistd.h>

void run(pkb::Context& ctx, const pkb::Args& args) {
  compute(ctx, args, ctx.stream());
  const pid_t child = fork();
  if (child == 0) {
    usleep(50'000);
    cudaMemset(args.out.data, 0, 64);
    _exit(0);
  }
  if (child > 0) reached("a process of its own");
  tried("to fork");
}
