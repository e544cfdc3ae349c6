// SPDX-License-Identifier: Apache-2.0
// A right all-reduce whose blocks exchange their sums in pairs through the shared memory of a cluster; some forms do not
// order what the two do.
#include <cooperative_groups.h>
#include <pkb/allreduce.h>

#include "peers.cuh"
namespace cg = cooperative_groups;

struct State {};

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ unsigned address_in(unsigned rank, const void* p) {
  unsigned there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(shared_address(p)), "r"(rank));
  return there;
}
__global__ void __cluster_dims__(2, 1, 1) all_reduce(Peers<State> peers, int count) {
  __shared__ float tile[kThreads];
  __shared__ std::uint64_t full;
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  const auto cluster = cg::this_cluster();
  const unsigned other = cluster.block_rank() ^ 1;
  const float sum = i < count ? static_cast<float>(sum_of_inputs(peers, i)) : 0;
  float back = 0;
#if defined(SENT) || defined(SENT_AND_READ_AT_ONCE)
  // st.async: the values count at the mbarrier of the block that receives them.
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                 "r"(unsigned{sizeof tile}) : "memory");
  }
  cluster.sync();
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" ::"r"(
                   address_in(other, &tile[t])), "r"(__float_as_uint(sum)), "r"(address_in(other, &full)) : "memory");  // @send
#ifdef SENT
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
  back = tile[t];  // @receive
  cluster.sync();
#elif defined(TOLD) || defined(TOLD_AND_READ_AT_ONCE)
  // The other block reads once all threads of this one have arrived at its mbarrier.
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full)), "r"(kThreads) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  cluster.sync();
  tile[t] = sum;  // @put
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(address_in(other, &full)) : "memory");
#ifdef TOLD
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
  back = *cluster.map_shared_rank(&tile[t], other);  // @get
  cluster.sync();
#else
  tile[t] = sum;  // @write
#if defined(BLOCK_BARRIER)
  __syncthreads();
#else
  cluster.sync();
#endif
  back = *cluster.map_shared_rank(&tile[t], other);  // @read
#if defined(REUSED_EARLY)
  tile[t] = 0;  // @again
#endif
#ifndef LEAVES_EARLY
  cluster.sync();
#endif
#if defined(REUSED)
  tile[t] = 0;
#endif
#endif
  const int to = (blockIdx.x ^ 1) * blockDim.x + t;
  if (to < count) peers.out[peers.self][to] = static_cast<T>(back);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel()), blocks = (count + kThreads - 1) / kThreads;
  all_reduce<<<(blocks + 1) / 2 * 2, kThreads, 0, ctx.stream()>>>(peers_of<State>(ctx, args.tensor, args.out, nullptr),
                                                                  count);
}
