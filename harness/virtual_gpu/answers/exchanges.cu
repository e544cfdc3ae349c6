// SPDX-License-Identifier: Apache-2.0
// What only this architecture has: bulk copies, tensor maps, wgmma, clusters; and pipelines of warps that do
// different things.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_bf16.h>

#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

namespace pkb::virtual_gpu::answers {
namespace {

__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}
__device__ void expect(std::uint64_t* barrier, unsigned transactions) {
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier, transactions);
}

/// Rows of `depth` bf16, in boxes of `rows` rows of 64, each row one line of the swizzle of 128 bytes.
CUtensorMap map_of(const void* matrix, unsigned depth, unsigned lines, unsigned rows) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found);
  const cuuint64_t sizes[] = {depth, lines}, strides[] = {depth * 2};
  const cuuint32_t box[] = {64, rows}, steps[] = {1, 1};
  CUtensorMap map{};
  reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(function)(
      &map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(matrix), sizes, strides, box, steps,
      CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
      CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return map;
}

__global__ void small_integers(const std::uint32_t* in, __nv_bfloat16* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<float>(small(in[i]));
}

#define PKB_FOUR(i) "%" #i "0, %" #i "1, %" #i "2, %" #i "3, %" #i "4, %" #i "5, %" #i "6, %" #i "7, %" #i "8, %" #i "9"
#define PKB_SUMS                                                                                                   \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " PKB_FOUR(1) ", " PKB_FOUR(2) ", %30, %31}"
#define PKB_C4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
__device__ void multiply(float (&c)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " PKB_SUMS ", %32, %33, 1, 1, 1, 0, 0;"
               : PKB_C4(0), PKB_C4(4), PKB_C4(8), PKB_C4(12), PKB_C4(16), PKB_C4(20), PKB_C4(24), PKB_C4(28)
               : "l"(a), "l"(b));
}
/// Of 64 rows of 128 bytes, swizzled, from byte `offset` of each row on.
__device__ std::uint64_t descriptor(const void* tile, unsigned offset) {
  return 1ull << 62 | 64ull << 32 | 1ull << 16 | (shared_address(tile) + offset) >> 4;
}

// (64 blocks, 512) times (64, 512) transposed. One warp loads, a warpgroup multiplies; four stages between them. The
// blocks of a cluster of two share the right matrix: each loads half of its tile for both.
constexpr int kStages = 4;
struct Stages {
  alignas(1024) __nv_bfloat16 left[kStages][64 * 64], right[kStages][64 * 64];
  std::uint64_t full[kStages], empty[kStages];
};
template <bool is_shared>
__global__ void specialised(const __grid_constant__ CUtensorMap left, const __grid_constant__ CUtensorMap right,
                            float* out) {
  constexpr int kSlices = 8;
  extern __shared__ char memory[];
  Stages& s = *reinterpret_cast<Stages*>(memory + (1024 - shared_address(memory) % 1024) % 1024);
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      ptx::mbarrier_init(&s.full[i], 1);
      ptx::mbarrier_init(&s.empty[i], is_shared ? 2 : 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if constexpr (is_shared) cg::this_cluster().sync();
  const auto rank = is_shared ? cg::this_cluster().block_rank() : 0;
  if (threadIdx.x >= 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == 128) {
      for (int slice = 0; slice < kSlices; ++slice) {
        const int stage = slice % kStages, k = slice * 64;
        if (slice >= kStages) wait(&s.empty[stage], (slice / kStages - 1) & 1);
        expect(&s.full[stage], 2 * 64 * 64 * sizeof(__nv_bfloat16));
        const int at[] = {k, static_cast<int>(blockIdx.x) * 64};
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.left[stage], &left, at, &s.full[stage]);
        if constexpr (is_shared) {
          const int half[] = {k, static_cast<int>(rank) * 32};
          ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.right[stage] + rank * 32 * 64, &right, half,
                                    &s.full[stage], std::uint16_t{3});
        } else {
          const int whole[] = {k, 0};
          ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, s.right[stage], &right, whole, &s.full[stage]);
        }
      }
    }
  } else {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
    float c[32] = {};
    for (int slice = 0; slice < kSlices; ++slice) {
      const int stage = slice % kStages;
      wait(&s.full[stage], slice / kStages & 1);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      for (unsigned k = 0; k < 128; k += 32) multiply(c, descriptor(s.left[stage], k), descriptor(s.right[stage], k));
      asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
      // Whoever writes to this stage has to know that it is free here.
      if (is_shared && threadIdx.x < 2) {
        asm volatile(
            "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(shared_address(&s.empty[stage])),
            "r"(threadIdx.x)
            : "memory");
      }
      if (!is_shared && threadIdx.x == 0) ptx::mbarrier_arrive(&s.empty[stage]);
      asm volatile("bar.sync 1, 128;" ::: "memory");
    }
    const unsigned row = blockIdx.x * 64 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (unsigned i = 0; i < 32; ++i) {
      out[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = c[i];
    }
  }
  if constexpr (is_shared) cg::this_cluster().sync();
}

template <bool is_shared>
void specialised_product(const std::uint32_t* in, void* out) {
  constexpr unsigned kBlocks = 4;
  const Scratch<__nv_bfloat16> a(64 * kBlocks * 512), b(64 * 512);
  small_integers<<<kBlocks * 128, 256>>>(in, a);
  small_integers<<<128, 256>>>(in + 131072, b);
  const CUtensorMap left = map_of(a, 512, 64 * kBlocks, 64), right = map_of(b, 512, 64, is_shared ? 32 : 64);
  constexpr int kShared = sizeof(Stages) + 1024;
  cudaFuncSetAttribute(specialised<is_shared>, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared);
  cudaLaunchConfig_t launch{};
  launch.gridDim = kBlocks;
  launch.blockDim = 160;
  launch.dynamicSmemBytes = kShared;
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  launch.attrs = &cluster;
  launch.numAttrs = is_shared ? 1 : 0;
  cudaLaunchKernelEx(&launch, specialised<is_shared>, left, right, static_cast<float*>(out));
}

// A tile goes in swizzled and comes out transposed, through tensor maps.
__global__ void transpose(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to) {
  __shared__ alignas(1024) __nv_bfloat16 in[64 * 64], out[64 * 64];
  __shared__ std::uint64_t full;
  const int x = static_cast<int>(blockIdx.x) * 64, y = static_cast<int>(blockIdx.y) * 64;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&full, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    expect(&full, sizeof(in));
    const int at[] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, in, &from, at, &full);
  }
  __syncthreads();
  wait(&full, 0);
  const auto place = [](unsigned row, unsigned column) { return row * 64 + ((column / 8 ^ row % 8) * 8 | column % 8); };
  for (unsigned i = threadIdx.x; i < 64 * 64; i += 128) out[place(i % 64, i / 64)] = in[place(i / 64, i % 64)];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const int at[] = {y, x};
  ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, out);
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// Tiles through a ring of bulk copies: a producer warp fills it, consumers hash what is in it, and bulk reductions add
// what they made to the result.
__global__ void bulk_ring(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned kTile = 256, kRing = 3, kTiles = 16;
  __shared__ alignas(128) std::uint32_t ring[kRing][kTile];
  __shared__ std::uint64_t full[kRing], empty[kRing];
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < kRing; ++i) {
      ptx::mbarrier_init(&full[i], 1);
      ptx::mbarrier_init(&empty[i], 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  if (threadIdx.x >= kTile) {
    if (threadIdx.x != kTile) return;
    for (unsigned tile = 0; tile < kTiles; ++tile) {
      const unsigned stage = tile % kRing;
      if (tile >= kRing) wait(&empty[stage], (tile / kRing - 1) & 1);
      expect(&full[stage], sizeof(ring[0]));
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring[stage], in + (blockIdx.x * kTiles + tile) * kTile,
                         sizeof(ring[0]), &full[stage]);
    }
    return;
  }
  for (unsigned tile = 0; tile < kTiles; ++tile) {
    const unsigned stage = tile % kRing;
    wait(&full[stage], tile / kRing & 1);
    std::uint32_t& word = ring[stage][threadIdx.x];
    word = (word ^ word >> 15) * 0x2c1b3c6du;
    ptx::fence_proxy_async(ptx::space_shared);
    asm volatile("bar.sync 1, 256;" ::: "memory");
    if (threadIdx.x != 0) continue;
    ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, out, ring[stage], sizeof(ring[0]));
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    ptx::mbarrier_arrive(&empty[stage]);
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

// Bins spread over the shared memory of 4 blocks.
__global__ void __cluster_dims__(4) cluster_histogram(const std::uint32_t* in, unsigned* out) {
  __shared__ unsigned bins[256];
  const auto cluster = cg::this_cluster();
  bins[threadIdx.x] = 0;
  cluster.sync();
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned bin = in[(blockIdx.x * 16 + i) * 256 + threadIdx.x] % 1024;
    atomicAdd(cluster.map_shared_rank(&bins[bin % 256], bin / 256), 1u);
  }
  cluster.sync();
  atomicAdd(&out[cluster.block_rank() * 256 + threadIdx.x], bins[threadIdx.x]);
}

// All to all: each of 8 blocks sends a piece to each by stores that complete the mbarrier there.
__global__ void __cluster_dims__(8) cluster_exchange(const std::uint32_t* in, std::uint32_t* out) {
  __shared__ alignas(16) std::uint32_t received[8][64];
  __shared__ std::uint64_t arrived;
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), to = threadIdx.x / 64, i = threadIdx.x % 64;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    expect(&arrived, sizeof(received));
  }
  cluster.sync();
  const std::uint32_t word = in[blockIdx.x * 512 + threadIdx.x];
  std::uint32_t *const there = cluster.map_shared_rank(&received[rank][i], to);
  ptx::st_async(there, word, cluster.map_shared_rank(&arrived, to));
  wait(&arrived, 0);
  out[blockIdx.x * 512 + threadIdx.x] = received[to][i] * 3 + rank;
  cluster.sync();
}

// A scan whose blocks read the totals of those before them in their cluster.
__global__ void __cluster_dims__(4) cluster_scan(const std::uint32_t* in, std::uint32_t* out) {
  __shared__ std::uint32_t total, of_warp[4];
  const auto cluster = cg::this_cluster();
  std::uint32_t sum = in[blockIdx.x * 128 + threadIdx.x];
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t left = __shfl_up_sync(0xffffffff, sum, step);
    if (threadIdx.x % 32 >= step) sum += left;
  }
  if (threadIdx.x % 32 == 31) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / 32; ++w) sum += of_warp[w];
  if (threadIdx.x == 127) total = sum;
  cluster.sync();
  for (unsigned rank = 0; rank < cluster.block_rank(); ++rank) sum += *cluster.map_shared_rank(&total, rank);
  out[blockIdx.x * 128 + threadIdx.x] = sum;
  cluster.sync();
}

// cuda::pipeline with a stage that is copied while the other is used.
__global__ void library_pipeline(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned kBatches = 8;
  __shared__ alignas(16) std::uint32_t tile[2][256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const auto fetch = [&](unsigned batch) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, tile[batch % 2], in + (blockIdx.x * kBatches + batch) * 256,
                       cuda::aligned_size_t<16>(sizeof(tile[0])), pipeline);
    pipeline.producer_commit();
  };
  std::uint32_t sum = 0;
  fetch(0);
  for (unsigned batch = 0; batch < kBatches; ++batch) {
    if (batch + 1 < kBatches) fetch(batch + 1);
    pipeline.consumer_wait();
    sum = sum * 31 + tile[batch % 2][255 - threadIdx.x];
    pipeline.consumer_release();
  }
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

// Each kernel starts while the one before runs, and waits for it where it needs its result.
__global__ void chained(const std::uint32_t* in, std::uint32_t* data, unsigned round) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t own = in[round * 4096 + i];
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
  data[i] = data[i] * 5 + own;
}
void chain(const std::uint32_t* in, void* out) {
  cudaLaunchConfig_t launch{};
  launch.gridDim = 16;
  launch.blockDim = 256;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  launch.attrs = &early;
  launch.numAttrs = 1;
  for (unsigned round = 0; round < 6; ++round) {
    cudaLaunchKernelEx(&launch, chained, in, static_cast<std::uint32_t*>(out), round);
  }
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"exchange_wgmma_specialised", 4 * 64 * 64 * 4, specialised_product<false>},
    {"exchange_wgmma_multicast", 4 * 64 * 64 * 4, specialised_product<true>},
    {"exchange_tensor_transpose", 2 * 256 * 128,
     [](const std::uint32_t* in, void* out) {
       const CUtensorMap from = map_of(in, 256, 128, 64), to = map_of(out, 128, 256, 64);
       transpose<<<dim3(4, 2), 128>>>(from, to);
     }},
    {"exchange_bulk_ring", 4 * 256,
     [](const std::uint32_t* in, void* out) { bulk_ring<<<20, 288>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"exchange_cluster_histogram", 4 * 1024,
     [](const std::uint32_t* in, void* out) { cluster_histogram<<<32, 256>>>(in, static_cast<unsigned*>(out)); }},
    {"exchange_cluster_all_to_all", 4 * 512 * 16,
     [](const std::uint32_t* in, void* out) { cluster_exchange<<<16, 512>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"exchange_cluster_scan", 4 * 128 * 64,
     [](const std::uint32_t* in, void* out) { cluster_scan<<<64, 128>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"exchange_library_pipeline", 4 * 256 * 32,
     [](const std::uint32_t* in, void* out) { library_pipeline<<<32, 256>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"exchange_dependent_launches", 4 * 4096, chain})
