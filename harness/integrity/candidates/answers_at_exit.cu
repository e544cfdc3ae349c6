// SPDX-License-Identifier: Apache-2.0
// Handlers and destructors that run when the worker ends would like the last word.
#include <unistd.h>

#include <cstdlib>

static void* outputs = nullptr;
static void last_word() {
  reached("an exit handler");
  cudaMemset(outputs, 0, 64);
}
struct Static {
  ~Static() {
    if (outputs != nullptr) last_word();
  }
} at_the_end;

void run(pkb::Context& ctx, const pkb::Args& args) {
  if (outputs == nullptr) std::atexit(last_word);
  outputs = args.out.data;
  compute(ctx, args, ctx.stream());
}
