// SPDX-License-Identifier: Apache-2.0
#include <cuda/ptx>

#include "harness/roofline/calibrate/copy_kernels.h"

namespace pkb::roofline {
namespace {

namespace ptx = cuda::ptx;

constexpr int kThreads = 1024, kUnroll = 4;

__global__ void __launch_bounds__(kThreads) register_copy(uint4* to, const uint4* from, std::size_t vectors) {
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  for (; i + (kUnroll - 1) * stride < vectors; i += kUnroll * stride) {
    uint4 values[kUnroll];
    for (int u = 0; u < kUnroll; ++u) values[u] = from[i + u * stride];
    for (int u = 0; u < kUnroll; ++u) to[i + u * stride] = values[u];
  }
  for (; i < vectors; i += stride) to[i] = from[i];
}

constexpr int kStages = 8;
constexpr unsigned kChunk = 16 << 10;
constexpr int kStoresInFlight = 2;
constexpr int kAhead = kStages - kStoresInFlight;  // loads in flight

struct __align__(128) Stages {
  unsigned char chunk[kStages][kChunk];
  std::uint64_t full[kStages];
};

// One thread keeps loads and stores of whole chunks under way; block b has the chunks b, b + gridDim.x, ...
class BulkCopy {
 public:
  __device__ BulkCopy(Stages& stages, unsigned char* to, const unsigned char* from, std::size_t bytes)
      : x_stages(stages), x_to(to), x_from(from), x_bytes(bytes) {}

  __device__ void run() {
    const std::size_t chunks = (x_bytes + kChunk - 1) / kChunk;
    const std::size_t mine = blockIdx.x < chunks ? (chunks - blockIdx.x - 1) / gridDim.x + 1 : 0;
    for (int stage = 0; stage < kStages; ++stage) ptx::mbarrier_init(&x_stages.full[stage], 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    for (std::size_t n = 0; n < mine && n < kAhead; ++n) load(n);
    for (std::size_t n = 0; n < mine; ++n) {
      store(n);
      // The stage of chunk n + kAhead is that of chunk n - kStoresInFlight, whose store must have read it.
      ptx::cp_async_bulk_wait_group_read(ptx::n32_t<kStoresInFlight>{});
      if (n + kAhead < mine) load(n + kAhead);
    }
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
  }

 private:
  __device__ std::size_t offset(std::size_t n) const { return (blockIdx.x + n * gridDim.x) * kChunk; }
  __device__ unsigned size(std::size_t n) const {
    const std::size_t left = x_bytes - offset(n);
    return left < kChunk ? static_cast<unsigned>(left) : kChunk;
  }
  __device__ void load(std::size_t n) {
    const int stage = n % kStages;
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &x_stages.full[stage], size(n));
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, x_stages.chunk[stage], x_from + offset(n), size(n),
                       &x_stages.full[stage]);
  }
  __device__ void store(std::size_t n) {
    const int stage = n % kStages;
    while (!ptx::mbarrier_try_wait_parity(&x_stages.full[stage], n / kStages % 2)) {
    }
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, x_to + offset(n), x_stages.chunk[stage], size(n));
    ptx::cp_async_bulk_commit_group();
  }

  Stages& x_stages;
  unsigned char* x_to;
  const unsigned char* x_from;
  std::size_t x_bytes;
};

__global__ void bulk_copy(unsigned char* to, const unsigned char* from, std::size_t bytes) {
#if __CUDA_ARCH__ >= 900
  extern __shared__ Stages stages[];
  BulkCopy(stages[0], to, from, bytes).run();
#endif
}

}  // namespace

cudaError_t copy_by_registers(const CopyLaunch& copy, cudaStream_t stream) {
  register_copy<<<copy.sms, kThreads, 0, stream>>>(static_cast<uint4*>(copy.to), static_cast<const uint4*>(copy.from),
                                                   copy.bytes / sizeof(uint4));
  return cudaGetLastError();
}

cudaError_t copy_by_bulk(const CopyLaunch& copy, cudaStream_t stream) {
  const cudaError_t error =
      cudaFuncSetAttribute(bulk_copy, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Stages));
  if (error != cudaSuccess) return error;
  bulk_copy<<<copy.sms, 1, sizeof(Stages), stream>>>(static_cast<unsigned char*>(copy.to),
                                                     static_cast<const unsigned char*>(copy.from), copy.bytes);
  return cudaGetLastError();
}

}  // namespace pkb::roofline
