// SPDX-License-Identifier: Apache-2.0
// Threads, device memory, streams, files and symmetric memory that nobody gives back.
#include <unistd.h>

#include <thread>

void setup(pkb::Context& ctx, const pkb::Args&) { ctx.symmetric(1 << 20); }

void run(pkb::Context& ctx, const pkb::Args& args) {
  void* lost = nullptr;
  cudaMalloc(&lost, 1 << 20);
  cudaStream_t stream = nullptr;
  cudaStreamCreate(&stream);
  std::thread([] { pause(); }).detach();
  std::fclose(std::fopen("/tmp/lost", "w"));
  compute(ctx, args, ctx.stream());
}
