// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that brings its tiles into shared memory by asynchronous copies and, in some forms, reads them
// before they are there.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kTile = 2 * kThreads;  // elements: a copy of 4 bytes for each thread
struct State {
  alignas(16) T padded[1 << 14];  // the input, with room behind it for whole tiles
};
State* here;

__global__ void pad(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  peers.state[peers.self]->padded[i] = i < count ? peers.input[peers.self][i] : T(0.0f);
}

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ alignas(16) T tile[2][kTile];
  const T* from = peers.state[peers.self]->padded + blockIdx.x * kTile;
  const int t = threadIdx.x;
#if defined(BULK_READ_AT_ONCE) || defined(BULK_READ_BY_OTHERS) || defined(BULK)
  __shared__ std::uint64_t full;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                 "r"(unsigned{sizeof tile[0]})
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(tile[0])),
                 "l"(from), "r"(unsigned{sizeof tile[0]}), "r"(shared_address(&full))
                 : "memory");
  }
#if defined(BULK_READ_BY_OTHERS)
  if (t == 0)
#endif
#ifndef BULK_READ_AT_ONCE
    for (unsigned done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[0][2 * t])), "l"(from + 2 * t)
               : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(&tile[1][2 * t])), "l"(from + 2 * t)
               : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
#if defined(OLDER_GROUP_ONLY)
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  const int read = 1;
#elif defined(OLDER_GROUP)
  asm volatile("cp.async.wait_group 1;" ::: "memory");
  const int read = 0;
#elif defined(NOT_AWAITED)
  const int read = 0;
#else
  asm volatile("cp.async.wait_all;" ::: "memory");
  const int read = 1;
#endif
#ifndef NO_BARRIER
  __syncthreads();
#endif
#endif
#if defined(BULK_READ_AT_ONCE) || defined(BULK_READ_BY_OTHERS) || defined(BULK)
  const int read = 0;
#endif
  // Threads read what others have copied.
  for (int e = 0; e < 2; ++e) {
    const int at = (2 * t + e + 64) % kTile, i = blockIdx.x * kTile + at;
    if (i >= count) continue;
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
      sum += static_cast<float>(r == peers.self ? tile[read][at] : peers.input[r][i]);  // @read
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
#if defined(BULK_READ_AT_ONCE)
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
  pad<<<(1 << 14) / kThreads, kThreads, 0, ctx.stream()>>>(peers, count);
  all_reduce<<<(count + kTile - 1) / kTile, kThreads, 0, ctx.stream()>>>(peers, count);
}
