// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce: A and B are packed by tiles of the inner dimension, which the copy engine brings into a ring
// of three shared stages. The forms differ in how many barriers there are and in the parity that is waited for.
#include <pkb/gemm_allreduce.h>

#include "peers.cuh"
#include "product.cuh"

constexpr int kRows = 16, kColumns = 64, kDepth = 16, kStages = 3;
constexpr int kMostRows = 128, kMostDepths = 8;

struct State : Meeting {
  float partial[1 << 13];
};
State* here;
unsigned epoch;

struct Packed {
  alignas(16) float a[kMostDepths][kMostRows][kDepth];
  alignas(16) float b[kMostDepths][kDepth][kColumns];
};
Packed* packed;

__global__ void pack(const T* a, const T* b, Shape shape, Packed* to) {
  const int depth = blockIdx.x;
  for (int e = threadIdx.x; e < kMostRows * kDepth; e += blockDim.x) {
    const int row = e / kDepth, k = depth * kDepth + e % kDepth;
    to->a[depth][row][e % kDepth] =
        row < shape.m && k < shape.k ? static_cast<float>(a[row * shape.k + k]) : 0;
  }
  for (int e = threadIdx.x; e < kDepth * kColumns; e += blockDim.x) {
    const int k = depth * kDepth + e / kColumns, column = e % kColumns;
    to->b[depth][e / kColumns][column] =
        k < shape.k && column < shape.n ? static_cast<float>(b[k * shape.n + column]) : 0;
  }
}

__device__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void load(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}
__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  unsigned done = 0;
  while (!done)
    asm volatile(
        "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
        : "=r"(done) : "r"(shared_address(barrier)), "r"(parity) : "memory");
}

__global__ void multiply(Peers<State> peers, const Packed* packed, Shape shape) {
  __shared__ alignas(16) float a[kStages][kRows][kDepth];
  __shared__ alignas(16) float b[kStages][kDepth][kColumns];
  __shared__ std::uint64_t full[kStages];
  if (threadIdx.x == 0) {
    for (auto& each : full)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&each)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  const int row0 = blockIdx.x * kRows, depths = (shape.k + kDepth - 1) / kDepth;
  constexpr int kPerThread = kRows * kColumns / kThreads;
  float sum[kPerThread] = {};
  for (int k = 0; k < depths; ++k) {
    const int stage = k % kStages;
#ifdef BARRIER_PER_STAGE
    std::uint64_t* barrier = &full[stage];
#else
    std::uint64_t* barrier = &full[0];
#endif
    if (threadIdx.x == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
                   "r"(unsigned{sizeof a[0] + sizeof b[0]})
                   : "memory");
      load(a[stage], packed->a[k][row0], sizeof a[0], barrier);
      load(b[stage], packed->b[k], sizeof b[0], barrier);
    }
#ifdef PARITY_OF_TILE
    wait(barrier, k % 2);
#else
    wait(barrier, k / kStages % 2);
#endif
    for (int e = 0; e < kPerThread; ++e) {
      const int row = (threadIdx.x + e * kThreads) / kColumns, column = threadIdx.x % kColumns;
      for (int d = 0; d < kDepth; ++d) sum[e] += a[stage][row][d] * b[stage][d][column];  // @read
    }
    // What is read here was read by threads and is written by the copy engine three rounds later.
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
  }
  for (int e = 0; e < kPerThread; ++e) {
    const int row = row0 + (threadIdx.x + e * kThreads) / kColumns, column = threadIdx.x % kColumns;
    if (row < shape.m && column < shape.n) peers.state[peers.self]->partial[row * shape.n + column] = sum[e];
  }
}

// Before it reads, each block has met the blocks of all ranks, and so the kernels before them.
__global__ void reduce(Peers<State> peers, int count, unsigned epoch) {
  meet(peers, epoch);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r) sum += peers.state[r]->partial[i];
    peers.out[peers.self][i] = static_cast<T>(sum);
  }
}

void setup(pkb::Context& ctx, const pkb::Args&) {
  here = symmetric_state<State>(ctx);
  cudaMalloc(&packed, sizeof(Packed));
  epoch = 0;
}
void run(pkb::Context& ctx, const pkb::Args& args) {
  const Shape shape = shape_of(args);
  const auto peers = peers_of(ctx, args.A_local, args.C, here);
  pack<<<(shape.k + kDepth - 1) / kDepth, kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), args.B_local.as<T>(),
                                                                       shape, packed);
  // The copy engine of the next kernel reads what threads of this one wrote; a kernel's end orders the two.
  multiply<<<(shape.m + kRows - 1) / kRows, kThreads, 0, ctx.stream()>>>(peers, packed, shape);
  reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, shape.count(), ++epoch);
}
void teardown(pkb::Context&) { cudaFree(packed); }
