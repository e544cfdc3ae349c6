// SPDX-License-Identifier: Apache-2.0
// GEMM + all-reduce: tiles of packed operands come into two shared stages by cp.async while the stage before is
// multiplied, by tensor cores or by threads; the ranks then meet and each sums all partial products.
#include <pkb/gemm_allreduce.h>

#include <mma.h>

#include "peers.cuh"
#include "product.cuh"

constexpr int kTile = 32, kDepth = 16, kRowsPacked = 128, kColumnsPacked = 64, kDepthPacked = 80;

struct State : Meeting {
  float partial[kRowsPacked * kColumnsPacked];
};
State* here;
unsigned epoch;

struct Packed {
  alignas(16) T a[kRowsPacked][kDepthPacked];
  alignas(16) T b[kDepthPacked][kColumnsPacked];
};
Packed* packed;

__global__ void pack(const T* a, const T* b, Shape shape, Packed* to) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
  for (int e = first; e < kRowsPacked * kDepthPacked; e += stride) {
    const int row = e / kDepthPacked, k = e % kDepthPacked;
    to->a[row][k] = row < shape.m && k < shape.k ? a[row * shape.k + k] : T(0.0f);
  }
  for (int e = first; e < kDepthPacked * kColumnsPacked; e += stride) {
    const int k = e / kColumnsPacked, column = e % kColumnsPacked;
    to->b[k][column] = k < shape.k && column < shape.n ? b[k * shape.n + column] : T(0.0f);
  }
}

__device__ void copy_16_bytes(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

// A block of 128 threads computes a tile of 32 x 32.
__global__ void multiply(Peers<State> peers, const Packed* packed) {
  __shared__ alignas(32) T a[2][kTile][kDepth], b[2][kDepth][kTile];
  const int row0 = blockIdx.y * kTile, column0 = blockIdx.x * kTile, t = threadIdx.x;
  const auto fetch = [&](int k0, int stage) {
    if (t < 64)
      copy_16_bytes(&a[stage][t / 2][t % 2 * 8], &packed->a[row0 + t / 2][k0 + t % 2 * 8]);
    else
      copy_16_bytes(&b[stage][(t - 64) / 4][t % 4 * 8], &packed->b[k0 + (t - 64) / 4][column0 + t % 4 * 8]);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#ifdef TENSOR_CORES
  using namespace nvcuda;
  const int warp_row = t / 64 * 16, warp_column = t / 32 % 2 * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
#else
  float sum[8] = {};
#endif
  fetch(0, 0);
  for (int k0 = 0, n = 0; k0 < kDepthPacked; k0 += kDepth, ++n) {
    const int stage = n % 2;
    if (k0 + kDepth < kDepthPacked) {
      fetch(k0 + kDepth, 1 - stage);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
#ifdef TENSOR_CORES
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> right;
    wmma::load_matrix_sync(left, &a[stage][warp_row][0], kDepth);
    wmma::load_matrix_sync(right, &b[stage][0][warp_column], kTile);
    wmma::mma_sync(sum, left, right, sum);
#else
    for (int e = 0; e < 8; ++e)
      for (int k = 0; k < kDepth; ++k)
        sum[e] += static_cast<float>(a[stage][t / 4][k]) * static_cast<float>(b[stage][k][t % 4 * 8 + e]);
#endif
    __syncthreads();
  }
  float* partial = peers.state[peers.self]->partial;
#ifdef TENSOR_CORES
  wmma::store_matrix_sync(&partial[(row0 + warp_row) * kColumnsPacked + column0 + warp_column], sum, kColumnsPacked,
                          wmma::mem_row_major);
#else
  for (int e = 0; e < 8; ++e) partial[(row0 + t / 4) * kColumnsPacked + column0 + t % 4 * 8 + e] = sum[e];
#endif
}

__global__ void reduce(Peers<State> peers, Shape shape, unsigned epoch) {
  meet(peers, epoch);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < shape.count(); i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int r = 0; r < peers.count; ++r)
      sum += peers.state[r]->partial[i / shape.n * kColumnsPacked + i % shape.n];
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
  pack<<<8, kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), args.B_local.as<T>(), shape, packed);
  multiply<<<dim3(kColumnsPacked / kTile, kRowsPacked / kTile), 128, 0, ctx.stream()>>>(peers, packed);
  reduce<<<kBlocks, kThreads, 0, ctx.stream()>>>(peers, shape, ++epoch);
}
void teardown(pkb::Context&) { cudaFree(packed); }
