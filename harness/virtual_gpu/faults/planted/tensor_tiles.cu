// SPDX-License-Identifier: Apache-2.0
// A right all-reduce that moves tiles by tensor maps and, in some forms, does not wait for what it needs: every rank
// loads its own tiles, or stores them to all peers.
#include <pkb/allreduce.h>
#include <pkb/device/tensor_map.cuh>

#include "peers.cuh"

constexpr int kColumns = 64, kRows = 8, kTile = kRows * kColumns, kElements = 1 << 14;
struct State : Meeting {
  alignas(128) T padded[kElements];  // the input, with room behind it for whole tiles
  alignas(128) T received[kMaxRanks][kElements];
};
State* here;
pkb::TensorMap own;
struct Maps {
  pkb::TensorMap of[kMaxRanks];  // this rank's place on each rank
} to_peers;
unsigned epochs = 0;

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__global__ void pad(Peers<State> peers, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  peers.state[peers.self]->padded[i] = i < count ? peers.input[peers.self][i] : T(0.0f);
}

__global__ void load(const __grid_constant__ pkb::TensorMap own, Peers<State> peers, int count) {
  __shared__ alignas(128) T tile[kTile];
  __shared__ std::uint64_t full;
  const int t = threadIdx.x;
  if (t == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full)) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (t == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(&full)),
                 "r"(unsigned{sizeof tile}) : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(shared_address(tile)), "l"(&own), "r"(0), "r"(static_cast<int>(blockIdx.x) * kRows),
                 "r"(shared_address(&full)) : "memory");
  }
#ifdef READ_BY_OTHERS
  if (t == 0)
#endif
#ifndef READ_AT_ONCE
    for (unsigned done = 0; !done;)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
  for (int at = t; at < kTile; at += kThreads) {
    const int i = blockIdx.x * kTile + at;
    if (i >= count) continue;
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
      sum += static_cast<float>(r == peers.self ? tile[at] : peers.input[r][i]);  // @read
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
#ifdef READ_AT_ONCE
  for (unsigned done = 0; !done;)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done) : "r"(shared_address(&full)) : "memory");
#endif
}

__global__ void store(const __grid_constant__ Maps to_peers, Peers<State> peers, int count, unsigned epoch) {
  __shared__ alignas(128) T tile[kTile];
  const int t = threadIdx.x, tiles = (count + kTile - 1) / kTile;
  for (int k = blockIdx.x; k < tiles; k += kBlocks) {
    for (int at = t; at < kTile; at += kThreads) {
      const int i = k * kTile + at;
      tile[at] = i < count ? peers.input[peers.self][i] : T(0.0f);  // @fill
    }
#ifndef NO_PROXY_FENCE
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
    __syncthreads();
    if (t == 0) {
      for (int r = 0; r < peers.count; ++r)
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to_peers.of[r]),
                     "r"(0), "r"(k * kRows), "r"(shared_address(tile)) : "memory");  // @store
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifndef TILE_REFILLED_EARLY
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    __syncthreads();
  }
#ifndef ONLY_READ_AWAITED
  if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#endif
#ifndef NO_FLAG
  meet(peers, epoch);
#endif
  for (int k = blockIdx.x; k < tiles; k += kBlocks)
    for (int i = k * kTile + t; i < min(count, (k + 1) * kTile); i += kThreads) {
      float sum = 0;
      for (int r = 0; r < peers.count; ++r) sum += static_cast<float>(peers.state[peers.self]->received[r][i]);  // @sum
      peers.out[peers.self][i] = static_cast<T>(sum);
    }
#ifdef NO_FLAG
  meet(peers, epoch);
#endif
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  pkb::make_tensor_map(own, here->padded, kElements / kColumns, kColumns, {.rows = kRows, .columns = kColumns});
  for (int r = 0; r < ctx.world_size(); ++r)
    pkb::make_tensor_map(to_peers.of[r], ctx.peer(here, r)->received[ctx.rank()], kElements / kColumns, kColumns,
                         {.rows = kRows, .columns = kColumns});
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.out.numel());
  const auto peers = peers_of(ctx, args.tensor, args.out, here);
#if defined(LOADED) || defined(READ_AT_ONCE) || defined(READ_BY_OTHERS)
  pad<<<kElements / kThreads, kThreads, 0, ctx.stream()>>>(peers, count);
  load<<<(count + kTile - 1) / kTile, kThreads, 0, ctx.stream()>>>(own, peers, count);
#else
  store<<<kBlocks, kThreads, 0, ctx.stream()>>>(to_peers, peers, count, ++epochs);
#endif
}
