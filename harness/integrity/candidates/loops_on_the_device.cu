// SPDX-License-Identifier: Apache-2.0
// A kernel without end; the number of ranks says where: 1 setup, 2 run, 3 teardown.
__global__ void work_for_ever(volatile int* counter) {
  for (;;) *counter = *counter + 1;
}

static void start(pkb::Context& ctx) {
  int* counter = nullptr;
  cudaMalloc(&counter, sizeof *counter);
  cudaMemset(counter, 0, sizeof *counter);
  work_for_ever<<<1, 1, 0, ctx.stream()>>>(counter);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  if (ctx.world_size() == 1) start(ctx);
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  compute(ctx, args, ctx.stream());
  if (ctx.world_size() == 2) start(ctx);
}
void teardown(pkb::Context& ctx) {
  if (ctx.world_size() == 3) start(ctx);
}
