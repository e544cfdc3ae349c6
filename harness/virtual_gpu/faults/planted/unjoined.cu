// SPDX-License-Identifier: Apache-2.0
// An all-reduce by a kernel on a stream of its own. Nothing in some forms orders it before the end of the run's stream.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};
cudaStream_t other;
cudaEvent_t begun, done;

__global__ void all_reduce(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) peers.out[peers.self][i] = sum_of_inputs(peers, i);
}

void setup(pkb::Context&, const pkb::Args&) {
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
#if defined(LEGACY)
  cudaStream_t on = cudaStreamLegacy;
#elif defined(PER_THREAD)
  cudaStream_t on = cudaStreamPerThread;
#else
  cudaStream_t on = other;
#endif
  cudaEventRecord(begun, ctx.stream());
  cudaStreamWaitEvent(on, begun);
  all_reduce<<<(count + kThreads - 1) / kThreads, kThreads, 0, on>>>(
      peers_of<State>(ctx, args.tensor, args.out, nullptr), count);
  cudaEventRecord(done, on);
#if defined(JOINED)
  cudaStreamWaitEvent(ctx.stream(), done);
#elif defined(HOST_WAITS)
  cudaStreamSynchronize(on);
#elif defined(HOST_WAITS_FOR_EVENT)
  cudaEventSynchronize(done);
#endif
}
void teardown(pkb::Context&) {
  cudaStreamDestroy(other);
  cudaEventDestroy(begun);
  cudaEventDestroy(done);
}
