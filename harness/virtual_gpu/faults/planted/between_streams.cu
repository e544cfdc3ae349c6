// SPDX-License-Identifier: Apache-2.0
// All-reduce in two steps on two streams of a rank: one brings the own input into scratch memory, the other sums.
// Forms differ in what the first step is and in what orders the two.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {};
T* scratch;
cudaStream_t other;
cudaEvent_t begun, copied;

__global__ void copy(const T* from, T* to, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) to[i] = from[i];  // @copy
}
__global__ void all_reduce(Peers<State> peers, const T* scratch, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int r = 0; r < peers.count; ++r)
    sum += static_cast<float>(r == peers.self ? scratch[i] : peers.input[r][i]);  // @sum
  peers.out[peers.self][i] = static_cast<T>(sum);
}

void setup(pkb::Context&, const pkb::Args& args) {
  cudaMalloc(&scratch, args.tensor.numel() * sizeof(T));
  cudaMemset(scratch, 0, args.tensor.numel() * sizeof(T));
#ifdef BLOCKING_STREAM
  cudaStreamCreate(&other);
#else
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
#endif
  for (cudaEvent_t* each : {&begun, &copied}) cudaEventCreateWithFlags(each, cudaEventDisableTiming);
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kThreads - 1) / kThreads;
  cudaEventRecord(begun, ctx.stream());
  cudaStreamWaitEvent(other, begun);
#if defined(KERNEL) || defined(KERNEL_AND_EVENT)
  copy<<<blocks, kThreads, 0, other>>>(args.tensor.as<T>(), scratch, count);
#elif defined(CLEARED_AFTERWARDS)
  copy<<<blocks, kThreads, 0, ctx.stream()>>>(args.tensor.as<T>(), scratch, count);
#else
  cudaMemcpyAsync(scratch, args.tensor.data, count * sizeof(T), cudaMemcpyDeviceToDevice, other);
#endif
  cudaEventRecord(copied, other);
#if defined(KERNEL_AND_EVENT) || defined(COPY_AND_EVENT)
  cudaStreamWaitEvent(ctx.stream(), copied);
#elif defined(COPY_AND_HOST)
  cudaStreamSynchronize(other);
#endif
  all_reduce<<<blocks, kThreads, 0, ctx.stream()>>>(peers_of<State>(ctx, args.tensor, args.out, nullptr), scratch,
                                                    count);
#ifdef CLEARED_AFTERWARDS
  cudaMemsetAsync(scratch, 0, count * sizeof(T), other);
#endif
  // Everything `run` does is ordered before the end of the candidate's stream.
  cudaEventRecord(copied, other);
  cudaStreamWaitEvent(ctx.stream(), copied);
}
void teardown(pkb::Context&) {
  cudaStreamDestroy(other);
  for (cudaEvent_t each : {begun, copied}) cudaEventDestroy(each);
  cudaFree(scratch);
}
