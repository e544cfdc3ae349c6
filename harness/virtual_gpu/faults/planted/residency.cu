// SPDX-License-Identifier: Apache-2.0
// A right all-reduce behind a barrier of the grid's blocks, or of two grids, for which there may not be room.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State {
  unsigned arrived, word;
};
State* here;
unsigned arrivals, epoch;
cudaStream_t other;
cudaEvent_t begun, done;

__device__ void arrive_and_wait(unsigned* counter, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    add_acq_rel_gpu(counter, 1);
    while (!reached(load_acquire_gpu(counter), target)) __nanosleep(100);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(1024, 2) all_reduce(Peers<State> peers, int count, unsigned target) {
  extern __shared__ char room[];
  arrive_and_wait(&peers.state[peers.self]->arrived, target);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    peers.out[peers.self][i] = sum_of_inputs(peers, i);
}
// Fills the GPU and waits for a kernel of one block.
__global__ void __launch_bounds__(1024, 2) fill_and_wait(State* own, unsigned epoch) {
  if (threadIdx.x == 0)
    while (!reached(load_acquire_gpu(&own->word), epoch)) __nanosleep(100);
}
// Another grid that comes to the same barrier.
__global__ void __launch_bounds__(1024, 2) meet(State* own, unsigned target) { arrive_and_wait(&own->arrived, target); }
__global__ void set(State* own, unsigned epoch) { store_release_gpu(&own->word, epoch); }

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  arrivals = epoch = 0;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  for (cudaEvent_t* each : {&begun, &done}) cudaEventCreateWithFlags(each, cudaEventDisableTiming);
  cudaFuncSetAttribute(all_reduce, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 * 1024);
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  int sms = 0;
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
  ++epoch;
#if defined(ONE_BLOCK_TOO_MANY)
  const int blocks = 2 * sms + 1, threads = 1024, shared = 0;
#elif defined(AS_MANY_AS_FIT)
  const int blocks = 2 * sms, threads = 1024, shared = 0;
#elif defined(BLOCKS_280)
  const int blocks = 280, threads = 1024, shared = 0;  // a B200 has 148 SMs, an H200 132
#elif defined(TWO_GRIDS_TOO_LARGE)
  const int blocks = sms + 1, threads = 1024, shared = 0;
#elif defined(TWO_GRIDS_THAT_FIT)
  const int blocks = sms, threads = 1024, shared = 0;
#elif defined(TOO_MUCH_SHARED)
  const int blocks = sms + 1, threads = 64, shared = 120 * 1024;
#elif defined(SHARED_THAT_FITS)
  const int blocks = sms, threads = 64, shared = 120 * 1024;
#else
  const int blocks = 8, threads = 64, shared = 0;
#endif
#if defined(FULL_OF_WAITING) || defined(ROOM_FOR_ONE)
#if defined(ROOM_FOR_ONE)
  const int waiting = 2 * sms - 1;
#else
  const int waiting = 2 * sms;
#endif
  cudaEventRecord(begun, ctx.stream());
  fill_and_wait<<<waiting, 1024, 0, ctx.stream()>>>(here, epoch);
  cudaStreamWaitEvent(other, begun);
  set<<<1, 1024, 0, other>>>(here, epoch);
  cudaEventRecord(done, other);
  cudaStreamWaitEvent(ctx.stream(), done);
#endif
  arrivals += blocks;
#if defined(TWO_GRIDS_TOO_LARGE) || defined(TWO_GRIDS_THAT_FIT)
  arrivals += blocks;
  cudaEventRecord(begun, ctx.stream());
  cudaStreamWaitEvent(other, begun);
  meet<<<blocks, threads, 0, other>>>(here, arrivals);
  cudaEventRecord(done, other);
#endif
  all_reduce<<<blocks, threads, shared, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                        static_cast<int>(args.out.numel()), arrivals);
#if defined(TWO_GRIDS_TOO_LARGE) || defined(TWO_GRIDS_THAT_FIT)
  cudaStreamWaitEvent(ctx.stream(), done);
#endif
}
void teardown(pkb::Context&) {
  cudaStreamDestroy(other);
  for (cudaEvent_t each : {begun, done}) cudaEventDestroy(each);
}
