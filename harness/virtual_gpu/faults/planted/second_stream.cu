// SPDX-License-Identifier: Apache-2.0
// All-reduce by peer loads, on a stream of its own. Forms differ in what orders that behind ctx.stream(), where a run begins.
#include <pkb/device.cuh>
#include <pkb/allreduce.h>

namespace {

using pkb::T;

cudaStream_t other;
cudaEvent_t begun, ended;

__global__ void sum(pkb::Peers<const T> inputs, T* out, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (i >= count) return;
  float total = 0;
  for (int r = 0; r < inputs.ranks; ++r) total += static_cast<float>(inputs[r][i]);  // @sum
  out[i] = static_cast<T>(total);
}

}  // namespace

void setup(pkb::Context&, const pkb::Args&) {
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  for (cudaEvent_t* each : {&begun, &ended}) cudaEventCreateWithFlags(each, cudaEventDisableTiming);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.out.numel();
  if (count == 0) return;
  cudaStream_t stream = other;
#ifdef DEFAULT_STREAM
  stream = nullptr;
#endif
#ifdef BEHIND
  cudaEventRecord(begun, ctx.stream());
  cudaStreamWaitEvent(stream, begun);
#endif
#ifdef HOST_WAITS_FIRST
  cudaStreamSynchronize(ctx.stream());
#endif
  sum<<<static_cast<unsigned>((count + 255) / 256), 256, 0, stream>>>(pkb::peers_of(ctx, args.tensor.as<const T>()),
                                                                     args.out.as<T>(), count);
  cudaEventRecord(ended, stream);
  cudaStreamWaitEvent(ctx.stream(), ended);
}

void teardown(pkb::Context&) {
  cudaStreamDestroy(other);
  for (cudaEvent_t each : {begun, ended}) cudaEventDestroy(each);
}
