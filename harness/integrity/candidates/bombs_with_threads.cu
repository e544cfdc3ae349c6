// SPDX-License-Identifier: Apache-2.0
// Threads that never end, at most 300 of them.
#include <unistd.h>

#include <system_error>
#include <thread>

void run(pkb::Context& ctx, const pkb::Args& args) {
  static int threads = 0;
  try {
    for (; threads < 300; ++threads) std::thread([] { pause(); }).detach();
  } catch (const std::system_error&) {
  }
  compute(ctx, args, ctx.stream());
}
