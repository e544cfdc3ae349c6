// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce by pushes, with data and flag in one store. A vector store is several scalar stores in no
// order; the forms differ in what is stored at once and what the reader looks at.
#include <pkb/allreduce.h>

#include "peers.cuh"

struct State : Meeting {
  uint4 slot[kMaxRanks][1 << 14];
};
State* here;
unsigned epoch;

#if defined(WORD_OF_64_BITS)
__device__ void send(uint4* slot, unsigned data, unsigned epoch) {
  const unsigned long long word = data | static_cast<unsigned long long>(epoch) << 32;
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(slot), "l"(word) : "memory");
}
__device__ unsigned receive(const uint4* slot, unsigned epoch) {
  unsigned long long word;
  do asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(slot) : "memory");
  while (word >> 32 != epoch);
  return static_cast<unsigned>(word);
}
#elif defined(WORD_OF_128_BITS)
__device__ void send(uint4* slot, unsigned data, unsigned epoch) {
  asm volatile("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.b128 [%0], w; }" ::"l"(slot),
               "l"(static_cast<unsigned long long>(data)), "l"(static_cast<unsigned long long>(epoch) << 32)
               : "memory");
}
__device__ unsigned receive(const uint4* slot, unsigned epoch) {
  unsigned long long low, high;
  do
    asm volatile("{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
                 : "=l"(low), "=l"(high) : "l"(slot) : "memory");
  while (high >> 32 != epoch);
  return static_cast<unsigned>(low);
}
#else
__device__ void send(uint4* slot, unsigned data, unsigned epoch) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(slot), "r"(data), "r"(0), "r"(0), "r"(epoch)
               : "memory");  // @send
}
__device__ unsigned receive(const uint4* slot, unsigned epoch) {
  uint4 v;
  do
    asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(slot) : "memory");
  while (v.w != epoch);  // @receive
  return v.x;
}
#endif

__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    for (int r = 0; r < peers.count; ++r)
      send(&peers.state[r]->slot[peers.self][i],
           __float_as_uint(static_cast<float>(peers.input[peers.self][i])), epoch);
#ifdef SEPARATE_FLAG
  meet(peers, epoch);
#endif
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
      sum += __uint_as_float(receive(&peers.state[peers.self]->slot[r][i], epoch));
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
