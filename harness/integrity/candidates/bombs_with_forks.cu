// SPDX-License-Identifier: Apache-2.0
// A fork bomb of at most 32 processes that live for a second.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

void run(pkb::Context& ctx, const pkb::Args& args) {
  for (int i = 0; i < 32; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      sleep(1);
      _exit(0);
    }
    if (child > 0) reached("process %d of a bomb", i);
  }
  char* const words[] = {const_cast<char*>("/worker"), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, "/worker", nullptr, nullptr, words, environ) == 0) reached("a program of its own");
  if (vfork() == 0) _exit(0);
  if (system("true") == 0) reached("a shell");
  tried("to fork");
  compute(ctx, args, ctx.stream());
}
