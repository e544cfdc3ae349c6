// SPDX-License-Identifier: Apache-2.0
// A right all-reduce whose sums pass through a product of a warpgroup with the unit matrix, which reads both from
// shared memory in the async proxy; the forms differ in what stands between the filling of that memory and the product.
#include <pkb/allreduce.h>

#include "peers.cuh"

constexpr int kRows = 64, kColumns = 8, kDepth = 16, kGroup = 128;
constexpr unsigned kLeading = 128, kStride = 256;  // bytes to the next eight k, to the next eight rows
struct State {
  alignas(16) T tile[1 << 6][kRows * kDepth];
};
State* here;

#if defined(COPY_AWAITED) || defined(COPY_OF_PHASE_BEFORE) || defined(COPY_NOT_AWAITED)
#define COPIES
#endif

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
/// Where element (line, k) of an operand stands.
__device__ int place(int line, int k) {
  return static_cast<int>(line / 8 * kStride + k / 8 * kLeading) / 2 + line % 8 * 8 + k % 8;
}
__device__ std::uint64_t describe(const T* operand) {
  return (shared_address(operand) & 0x3ffff) >> 4 | std::uint64_t{kLeading >> 4} << 16 | std::uint64_t{kStride >> 4} << 32;
}
__device__ T left(const Peers<State>& peers, int count, int row, int k) {
  const int i = (blockIdx.x * kRows + row) * kColumns + k;
  return k < kColumns && i < count ? sum_of_inputs(peers, i) : static_cast<T>(0.f);
}

__global__ void prepare(Peers<State> peers, int count) {
  for (int i = threadIdx.x; i < kRows * kDepth; i += kGroup)
    peers.state[peers.self]->tile[blockIdx.x][place(i / kDepth, i % kDepth)] = left(peers, count, i / kDepth, i % kDepth);
}

__global__ void all_reduce(Peers<State> peers, int count) {
  __shared__ alignas(128) T a[kRows * kDepth];
  __shared__ alignas(128) T b[kColumns * kDepth];
  const int t = threadIdx.x;
#if defined(FENCE_BEFORE)
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
  b[place(t / kDepth, t % kDepth)] = static_cast<T>(t / kDepth == t % kDepth ? 1.f : 0.f);  // @unit
#if defined(COPIES)
  __shared__ std::uint64_t full;
  if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
#else
  for (int i = t; i < kRows * kDepth; i += kGroup) a[place(i / kDepth, i % kDepth)] = left(peers, count, i / kDepth, i % kDepth);  // @store
#endif
#if defined(ALIAS_FENCE)
  asm volatile("fence.proxy.alias;" ::: "memory");
#elif defined(BLOCK_FENCE)
  __threadfence_block();
#elif !defined(FENCE_BEFORE)
  asm volatile("fence.proxy.async;" ::: "memory");
#endif
#if defined(NO_BARRIER)
  __syncwarp();
#else
  __syncthreads();
#endif
#if defined(COPIES)
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)), "n"(sizeof a) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                     shared_address(a)), "l"(peers.state[peers.self]->tile[blockIdx.x]), "n"(sizeof a), "r"(shared_address(&full))
                 : "memory");  // @copy
  }
#if !defined(COPY_NOT_AWAITED)
#if defined(COPY_OF_PHASE_BEFORE)
  const unsigned parity = 1;
#else
  const unsigned parity = 0;
#endif
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)), "r"(parity) : "memory");
#endif
#endif
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(describe(a)), "l"(describe(b)) : "memory");  // @product
  asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
#if defined(COPIES)
  // The copy has come before the block ends, whatever was read.
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
  for (int j = 0; j < 4; ++j) {
    const int row = t / 32 * 16 + t % 32 / 4 + j / 2 * 8, column = t % 4 * 2 + j % 2;
    const int to = (blockIdx.x * kRows + row) * kColumns + column;
    if (to < count) peers.out[peers.self][to] = static_cast<T>(d[j]);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) { here = symmetric_state<State>(ctx); }
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kRows * kColumns - 1) / (kRows * kColumns);
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
#if defined(COPIES)
  prepare<<<blocks, kGroup, 0, ctx.stream()>>>(peers, count);
#endif
  all_reduce<<<blocks, kGroup, 0, ctx.stream()>>>(peers, count);
}
