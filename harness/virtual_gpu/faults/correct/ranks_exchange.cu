// SPDX-License-Identifier: Apache-2.0
// All-reduce by the ways in which ranks pass data on: up and down a tree, by a queue with a head and a tail, by adding
// into a peer, by 128-bit words that carry their flag, late or not at all at once.
#include <pkb/allreduce.h>

#ifdef QUEUE
#include <cuda/atomic>
#endif

#include "peers.cuh"

constexpr int kQueue = 4;

struct alignas(16) Word {
  float value;
  unsigned pad[2], epoch;
};
struct State : Meeting {
  unsigned up[kBlocks][2], down[kBlocks];         // tree: children's flags and the parent's
  unsigned head[kBlocks], tail[kBlocks];          // queue: filled by the previous rank, emptied here
  double queue[kBlocks][kQueue][kThreads];
  double sum[1 << 14], from_child[2][1 << 14];
  Word word[kMaxRanks][1 << 14];
};
State* here;
unsigned epoch;

#ifdef QUEUE
using System = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
#endif

// fp64 holds the sums exactly, so that every order gives the same bits.
__global__ void all_reduce(Peers<State> peers, int count, unsigned epoch) {
  const Part mine(count, blockIdx.x, gridDim.x);
  State& own = *peers.state[peers.self];
  const T* input = peers.input[peers.self];
  T* out = peers.out[peers.self];
#if defined(TREE)
  const int parent = (peers.self - 1) / 2;
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) own.sum[i] = static_cast<float>(input[i]);
  for (int c = 0; c < 2; ++c) {
    if (2 * peers.self + 1 + c >= peers.count) continue;
    if (threadIdx.x == 0)
      while (!reached(load_acquire(&own.up[blockIdx.x][c]), epoch)) {}
    __syncthreads();
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) own.sum[i] += own.from_child[c][i];
  }
  if (peers.self > 0) {
    State& above = *peers.state[parent];
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      above.from_child[(peers.self - 1) % 2][i] = own.sum[i];
    __syncthreads();
    if (threadIdx.x == 0) {
      store_release(&above.up[blockIdx.x][(peers.self - 1) % 2], epoch);
      while (!reached(load_acquire(&own.down[blockIdx.x]), epoch)) {}
    }
    __syncthreads();
  }
  for (int c = 0; c < 2; ++c) {
    if (2 * peers.self + 1 + c >= peers.count) continue;
    State& child = *peers.state[2 * peers.self + 1 + c];
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) child.sum[i] = own.sum[i];
    __syncthreads();
    if (threadIdx.x == 0) store_release(&child.down[blockIdx.x], epoch);
  }
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) out[i] = static_cast<T>(own.sum[i]);
#elif defined(QUEUE)
  // Pieces travel around the ring through a queue of four; a slot is filled again when its reader has said so.
  State& next = *peers.state[(peers.self + 1) % peers.count];
  __shared__ unsigned head, tail;
  if (threadIdx.x == 0) head = next.head[blockIdx.x], tail = own.tail[blockIdx.x];
  __syncthreads();
  for (int begin = mine.begin; begin < mine.end; begin += blockDim.x) {
    const int i = begin + threadIdx.x;
    double piece = i < mine.end ? static_cast<float>(input[i]) : 0, sum = piece;
    for (int step = 1; step < peers.count; ++step) {
      if (threadIdx.x == 0)
        while (System(next.tail[blockIdx.x]).load(cuda::std::memory_order_acquire) + kQueue == head) {}
      __syncthreads();
      next.queue[blockIdx.x][head % kQueue][threadIdx.x] = piece;
      __syncthreads();
      if (threadIdx.x == 0) {
        System(next.head[blockIdx.x]).store(++head, cuda::std::memory_order_release);
        while (System(own.head[blockIdx.x]).load(cuda::std::memory_order_acquire) == tail) {}
      }
      __syncthreads();
      piece = own.queue[blockIdx.x][tail % kQueue][threadIdx.x];
      sum += piece;
      __syncthreads();
      if (threadIdx.x == 0) System(own.tail[blockIdx.x]).store(++tail, cuda::std::memory_order_release);
    }
    if (i < mine.end) out[i] = static_cast<T>(sum);
  }
#elif defined(ADDS_INTO_PEERS)
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) own.sum[i] = 0;
  meet(peers, 2 * epoch - 1);
  for (int r = 0; r < peers.count; ++r)
    for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
      atomicAdd_system(&peers.state[(peers.self + r) % peers.count]->sum[i], static_cast<double>(static_cast<float>(input[i])));
  meet(peers, 2 * epoch);
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) out[i] = static_cast<T>(own.sum[i]);
#elif defined(WORDS_OF_128_BITS)
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x)
    for (int r = 0; r < peers.count; ++r)
      asm volatile("{ .reg .b128 w; mov.b128 w, {%1, %2}; st.relaxed.sys.global.b128 [%0], w; }" ::"l"(
                       &peers.state[r]->word[peers.self][i]),
                   "l"(static_cast<unsigned long long>(__float_as_uint(static_cast<float>(input[i])))),
                   "l"(static_cast<unsigned long long>(epoch) << 32)
                   : "memory");
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) {
      unsigned long long low, high;
      do asm volatile("{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%2]; mov.b128 {%0, %1}, w; }"
                      : "=l"(low), "=l"(high) : "l"(&own.word[r][i]) : "memory");
      while (high >> 32 != epoch);
      sum += __uint_as_float(static_cast<unsigned>(low));
    }
    out[i] = static_cast<T>(sum);
  }
#elif defined(SLOW_READER)
  // Inputs are complete before a run and unchanged until every rank has ended, however late one of them reads.
  if (peers.self == 1) {
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - begin < 200'000'000);
  }
  for (int i = mine.begin + threadIdx.x; i < mine.end; i += blockDim.x) out[i] = sum_of_inputs(peers, i);
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  all_reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers_of(ctx, args.tensor, args.out, here),
                                                     static_cast<int>(args.out.numel()), ++epoch);
}
