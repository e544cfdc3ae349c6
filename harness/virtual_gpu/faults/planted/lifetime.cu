// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that also looks into memory of its own, which in some forms is freed by then.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};
float* memory;
cudaStream_t other;
cudaEvent_t allocated;

__global__ void fill(float* memory) { memory[threadIdx.x] = 1; }
__global__ void all_reduce(Peers<State> peers, const float* memory, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float seen = memory[threadIdx.x];  // @read
  if (i < count) peers.out[peers.self][i] = seen == 1.2345f ? T(0.0f) : sum_of_inputs(peers, i);
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  const std::size_t bytes = kThreads * sizeof(float);
#if defined(FREED_ON_HOST)
  cudaMallocHost(&memory, bytes);
#elif defined(FREED_BY_STREAM) || defined(FREED_AFTERWARDS)
  cudaMallocAsync(&memory, bytes, ctx.stream());
#else
  cudaMalloc(&memory, bytes);
#endif
  fill<<<1, kThreads, 0, ctx.stream()>>>(memory);
  cudaStreamSynchronize(ctx.stream());
#if defined(FREED)
  cudaFree(memory);
#elif defined(FREED_ON_HOST)
  cudaFreeHost(memory);
#elif defined(FREED_BY_STREAM)
  cudaFreeAsync(memory, ctx.stream());
#endif
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), memory, count);
}
void teardown(pkb::Context& ctx) {
#if defined(FREED_AFTERWARDS)
  cudaFreeAsync(memory, ctx.stream());
#elif defined(KEPT)
  cudaFree(memory);
#endif
}
