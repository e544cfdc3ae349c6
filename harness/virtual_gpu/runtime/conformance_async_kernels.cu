// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/conformance_async_kernels.h"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>

namespace cg = cooperative_groups;
namespace ptx = cuda::ptx;

namespace {

__device__ void wait(std::uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

constexpr int kTile = 256, kStages = 3, kConsumers = 128;

__global__ void warp_specialised_kernel(const int* in, int* out, int tiles) {
  __shared__ alignas(128) int ring[kStages][kTile];
  __shared__ std::uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (int s = 0; s < kStages; ++s) {
      ptx::mbarrier_init(&full[s], 1);
      ptx::mbarrier_init(&empty[s], 1);
    }
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
  }
  __syncthreads();
  const int first = blockIdx.x, step = gridDim.x;
  if (threadIdx.x >= kConsumers) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    if (threadIdx.x == kConsumers) {
      int round = 0;
      for (int tile = first; tile < tiles; tile += step, ++round) {
        const int stage = round % kStages;
        if (round >= kStages) wait(&empty[stage], (round / kStages - 1) & 1);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[stage],
                                       sizeof(ring[0]));
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, ring[stage], in + tile * kTile, sizeof(ring[0]),
                           &full[stage]);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
  int round = 0;
  for (int tile = first; tile < tiles; tile += step, ++round) {
    const int stage = round % kStages;
    wait(&full[stage], round / kStages & 1);
    for (int i = threadIdx.x; i < kTile; i += kConsumers) ring[stage][i] = 3 * ring[stage][i] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + tile * kTile, ring[stage], sizeof(ring[0]));
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
      ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &empty[stage]);
    }
  }
  if (threadIdx.x == 0) ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

constexpr int kRows = 4, kColumns = 256;

__device__ void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

__global__ void double_buffered_kernel(const int* in, int* sum, int rows) {
  __shared__ alignas(16) int buffer[2][kRows][kColumns];
  const int chunk = threadIdx.x * 4;  // 256 threads, 4 rows of 64 chunks
  const auto load = [&](int stage, int row) {
    copy_16(&buffer[stage][0][0] + chunk, in + row * kColumns + chunk);
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  int total = 0;
  load(0, 0);
  for (int row = 0; row < rows; row += kRows) {
    const int stage = row / kRows % 2;
    if (row + kRows < rows) {
      load(stage ^ 1, row + kRows);
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_all;" ::: "memory");
    }
    __syncthreads();
    for (int r = 0; r < kRows; ++r) total += buffer[stage][r][threadIdx.x];
    __syncthreads();
  }
  sum[threadIdx.x] = total;
}

__global__ void bulk_reduce_kernel(const float* in, float* sums) {
  __shared__ alignas(16) float row[kColumns];
  row[threadIdx.x] = in[blockIdx.x * kColumns + threadIdx.x];
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, sums, row, sizeof(row));
  ptx::cp_async_bulk_commit_group();
  ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
}

__global__ void by_barrier_kernel(const int* in, int* out) {
  __shared__ alignas(16) int tile[512];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&arrived, block.size());
  block.sync();
  cuda::memcpy_async(block, tile, in + blockIdx.x * 512, cuda::aligned_size_t<16>(sizeof(tile)), arrived);
  arrived.arrive_and_wait();
  for (int i = threadIdx.x; i < 512; i += blockDim.x) out[blockIdx.x * 512 + i] = 2 * tile[i];
}

__global__ void by_pipeline_kernel(const int* in, int* out, int n) {
  __shared__ alignas(16) int tile[2][128];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cg::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  const int tiles = n / 128;
  const auto fill = [&](int t) {
    pipeline.producer_acquire();
    cuda::memcpy_async(block, tile[t % 2], in + t * 128, cuda::aligned_size_t<16>(sizeof(tile[0])), pipeline);
    pipeline.producer_commit();
  };
  fill(0);
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) fill(t + 1);
    pipeline.consumer_wait();
    for (int i = threadIdx.x; i < 128; i += blockDim.x) out[t * 128 + i] = 2 * tile[t % 2][i];
    pipeline.consumer_release();
  }
}

__global__ void __cluster_dims__(4) cluster_sum_kernel(int* out) {
  __shared__ int values[64];
  const auto cluster = cg::this_cluster();
  values[threadIdx.x] = static_cast<int>(threadIdx.x * threadIdx.x + 1000 * cluster.block_rank());
  cluster.sync();
  int sum = 0;
  for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) sum += cluster.map_shared_rank(values, rank)[threadIdx.x];
  __shared__ int total;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  atomicAdd(&total, sum);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = total;
  cluster.sync();  // nobody leaves while others read
}

__global__ void cluster_shape_kernel(int* out) {
  const auto cluster = cg::this_cluster();
  unsigned is_explicit;
  asm volatile("{.reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p;}" : "=r"(is_explicit));
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<int>(cluster.block_rank() + 100 * cluster.num_blocks() + 10000 * is_explicit);
}

__global__ void __cluster_dims__(4) multicast_kernel(const int* in, int* out) {
  __shared__ alignas(128) int tile[256];
  __shared__ std::uint64_t arrived;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived, sizeof(tile));
  }
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in + blockIdx.x / 4 * 256, sizeof(tile), &arrived,
                       std::uint16_t{0xf});
  }
  wait(&arrived, 0);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) {
    out[blockIdx.x * 256 + i] = tile[i] + static_cast<int>(cluster.block_rank());
  }
  cluster.sync();
}

__global__ void send_round_kernel(int* out) {
  __shared__ alignas(16) int received[4];
  __shared__ unsigned sum;
  __shared__ std::uint64_t arrived;
  const auto cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank(), size = cluster.num_blocks();
  if (threadIdx.x == 0) {
    sum = 0;
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived,
                                   16 + 4 * (size - 1));
  }
  cluster.sync();
  if (threadIdx.x == 0) {
    const unsigned right = (rank + 1) % size;
    const std::int32_t value = static_cast<std::int32_t>(rank);
    const std::int32_t values[4] = {value, value + 10, value + 20, value + 30};
    ptx::st_async(cluster.map_shared_rank(received, right), values, cluster.map_shared_rank(&arrived, right));
    for (unsigned other = 0; other < size; ++other) {
      if (other == rank) continue;
      ptx::red_async(ptx::op_add, cluster.map_shared_rank(&sum, other), rank + 1, cluster.map_shared_rank(&arrived, other));
    }
  }
  wait(&arrived, 0);
  if (threadIdx.x == 0) {
    out[2 * rank] = received[0] + received[1] + received[2] + received[3];
    out[2 * rank + 1] = static_cast<int>(sum + rank + 1);
  }
  cluster.sync();
}

__global__ void first_kernel(const volatile unsigned* started, int* data, int n, int meets) {
  cudaTriggerProgrammaticLaunchCompletion();
  while (meets != 0 && *started == 0) {
  }
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = i + 1;
}

__global__ void second_kernel(volatile unsigned* started, const int* data, int* out, int n) {
  *started = 1;
  cudaGridDependencySynchronize();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = data[i];
}

/// A launch with one attribute, or none.
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
                   const cudaLaunchAttribute* attribute, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.stream = stream;
  cudaLaunchAttribute copy{};
  if (attribute != nullptr) copy = *attribute;
  config.attrs = &copy;
  config.numAttrs = attribute == nullptr ? 0 : 1;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

cudaLaunchAttribute in_clusters_of(unsigned size) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = size;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  return attribute;
}

}  // namespace

cudaError_t warp_specialised(const int* in, int* out, int n, cudaStream_t stream) {
  // Register counts of warp groups need four warps each.
  warp_specialised_kernel<<<3, 2 * kConsumers, 0, stream>>>(in, out, n / kTile);
  return cudaGetLastError();
}

cudaError_t double_buffered(const int* in, int* sum, int rows, cudaStream_t stream) {
  double_buffered_kernel<<<1, kColumns, 0, stream>>>(in, sum, rows);
  return cudaGetLastError();
}

cudaError_t bulk_reduce(const float* in, float* sums, int rows, cudaStream_t stream) {
  bulk_reduce_kernel<<<rows, kColumns, 0, stream>>>(in, sums);
  return cudaGetLastError();
}

cudaError_t by_libcudacxx(const int* in, int* out, int n, cudaStream_t stream) {
  by_barrier_kernel<<<n / 512, 64, 0, stream>>>(in, out);
  by_pipeline_kernel<<<1, 64, 0, stream>>>(in, out + n, n);
  return cudaGetLastError();
}

cudaError_t cluster_sum(int* out, unsigned blocks, cudaStream_t stream) {
  cluster_sum_kernel<<<blocks, 64, 0, stream>>>(out);
  return cudaGetLastError();
}

cudaError_t cluster_shape(int* out, unsigned blocks, unsigned cluster, cudaStream_t stream) {
  const cudaLaunchAttribute attribute = in_clusters_of(cluster);
  const cudaError_t error =
      launch(cluster_shape_kernel, blocks, 32, stream, cluster == 0 ? nullptr : &attribute, out);
  cudaGetLastError();
  return error;
}

cudaError_t allow_non_portable(int allow) {
  return cudaFuncSetAttribute(cluster_shape_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, allow);
}

cudaError_t most_clusters(int* clusters, unsigned cluster, std::size_t shared) {
  cudaFuncSetAttribute(cluster_shape_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared));
  cudaLaunchAttribute attribute = in_clusters_of(cluster);
  cudaLaunchConfig_t config{};
  config.gridDim = cluster;
  config.blockDim = 32;
  config.dynamicSmemBytes = shared;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t error = cudaOccupancyMaxActiveClusters(clusters, cluster_shape_kernel, &config);
  cudaGetLastError();
  return error;
}

cudaError_t largest_cluster(int* size) {
  cudaLaunchConfig_t config{};
  config.gridDim = 16;
  config.blockDim = 32;
  return cudaOccupancyMaxPotentialClusterSize(size, cluster_shape_kernel, &config);
}

cudaError_t multicast(const int* in, int* out, unsigned clusters, cudaStream_t stream) {
  multicast_kernel<<<4 * clusters, 64, 0, stream>>>(in, out);
  return cudaGetLastError();
}

cudaError_t send_round(int* out, unsigned cluster, cudaStream_t stream) {
  const cudaLaunchAttribute attribute = in_clusters_of(cluster);
  return launch(send_round_kernel, cluster, 32, stream, &attribute, out);
}

cudaError_t dependent_pair(unsigned* started, int* data, int* out, int n, int meets, cudaStream_t stream) {
  first_kernel<<<1, 64, 0, stream>>>(started, data, n, meets);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  return launch(second_kernel, 1, 64, stream, &attribute, started, data, out, n);
}
