// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/conformance_tensor_kernels.h"

#include <cuda_runtime.h>

namespace {

constexpr unsigned kLine = 1024, kShared = 64 * 1024;

__device__ unsigned shared_address(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

/// The first boundary of 1 KiB in dynamic shared memory.
__device__ std::uint8_t* lines() {
  extern __shared__ std::uint8_t memory[];
  return memory + (kLine - shared_address(memory) % kLine) % kLine;
}

__device__ void init(std::uint64_t* bar) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(
                   shared_address(bar))
               : "memory");
}

__device__ void expect(std::uint64_t* bar, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
               : "memory");
}

/// False when the phase does not complete within a bounded time.
__device__ bool wait(std::uint64_t* bar) {
  for (int i = 0; i < 100000; ++i) {
    unsigned complete;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
        : "=r"(complete)
        : "r"(shared_address(bar))
        : "memory");
    if (complete != 0) return true;
  }
  return false;
}

__device__ void load(const CUtensorMap* map, const TensorRequest& request, unsigned to, unsigned bar) {
  const int* c = request.coordinates;
  const std::uint16_t* o = request.offsets;
#define PKB_LOAD(form) "cp.async.bulk.tensor." form ".mbarrier::complete_tx::bytes [%0], "
  if (request.im2col) {
    if (request.rank == 3)
      asm volatile(PKB_LOAD("3d.shared::cluster.global.im2col") "[%1, {%3, %4, %5}], [%2], {%6};" ::"r"(to),
                   "l"(map), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]), "h"(o[0])
                   : "memory");
    if (request.rank == 4)
      asm volatile(
          PKB_LOAD("4d.shared::cluster.global.im2col") "[%1, {%3, %4, %5, %6}], [%2], {%7, %8};" ::"r"(to),
          "l"(map), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "h"(o[0]), "h"(o[1])
          : "memory");
    if (request.rank == 5)
      asm volatile(
          PKB_LOAD("5d.shared::cluster.global.im2col") "[%1, {%3, %4, %5, %6, %7}], [%2], {%8, %9, %10};" ::
              "r"(to),
          "l"(map), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4]), "h"(o[0]), "h"(o[1]),
          "h"(o[2])
          : "memory");
    return;
  }
  if (request.rank == 1)
    asm volatile(PKB_LOAD("1d.shared::cluster.global.tile") "[%1, {%3}], [%2];" ::"r"(to), "l"(map), "r"(bar),
                 "r"(c[0])
                 : "memory");
  if (request.rank == 2)
    asm volatile(PKB_LOAD("2d.shared::cluster.global.tile") "[%1, {%3, %4}], [%2];" ::"r"(to), "l"(map),
                 "r"(bar), "r"(c[0]), "r"(c[1])
                 : "memory");
  if (request.rank == 3)
    asm volatile(PKB_LOAD("3d.shared::cluster.global.tile") "[%1, {%3, %4, %5}], [%2];" ::"r"(to), "l"(map),
                 "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2])
                 : "memory");
  if (request.rank == 4)
    asm volatile(PKB_LOAD("4d.shared::cluster.global.tile") "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3])
                 : "memory");
  if (request.rank == 5)
    asm volatile(PKB_LOAD("5d.shared::cluster.global.tile") "[%1, {%3, %4, %5, %6, %7}], [%2];" ::"r"(to),
                 "l"(map), "r"(bar), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]), "r"(c[4])
                 : "memory");
#undef PKB_LOAD
}

__device__ void fill_shared(std::uint8_t* shared, const TensorRequest& request) {
  for (unsigned i = threadIdx.x; i < request.shared_bytes; i += blockDim.x) shared[i] = 0xcd;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ void show_shared(const std::uint8_t* shared, const TensorRequest& request, std::uint8_t* out) {
  for (unsigned i = threadIdx.x; i < request.shared_bytes; i += blockDim.x) out[i] = shared[i];
}

__device__ void load_and_show(const CUtensorMap* map, const TensorRequest& request, std::uint8_t* out,
                              unsigned* done) {
  __shared__ std::uint64_t bar;
  std::uint8_t* const shared = lines();
  fill_shared(shared, request);
  if (threadIdx.x == 0) init(&bar);
  __syncthreads();
  if (threadIdx.x == 0) {
    expect(&bar, request.transactions);
    load(map, request, shared_address(shared) + request.shared_offset, shared_address(&bar));
  }
  const bool complete = wait(&bar);
  if (threadIdx.x == 0) *done = complete;
  show_shared(shared, request, out);
}

__global__ void load_kernel(const __grid_constant__ CUtensorMap map, TensorRequest request, std::uint8_t* out,
                            unsigned* done) {
  load_and_show(&map, request, out, done);
}

__global__ void store_kernel(const __grid_constant__ CUtensorMap map, TensorRequest request, int reduction,
                             const std::uint8_t* in) {
  std::uint8_t* const shared = lines();
  for (unsigned i = threadIdx.x; i < request.shared_bytes; i += blockDim.x) shared[i] = in[i];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x != 0) return;
  const unsigned from = shared_address(shared) + request.shared_offset;
  const int* c = request.coordinates;
#define PKB_REDUCE(operation)                                                 \
  asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." operation \
               ".tile.bulk_group [%0, {%2, "                                  \
               "%3}], [%1];" ::"l"(&map),                                     \
               "r"(from), "r"(c[0]), "r"(c[1])                                \
               : "memory")
  if (reduction == kTensorAdd) PKB_REDUCE("add");
  if (reduction == kTensorMin) PKB_REDUCE("min");
  if (reduction == kTensorMax) PKB_REDUCE("max");
  if (reduction == kTensorInc) PKB_REDUCE("inc");
  if (reduction == kTensorDec) PKB_REDUCE("dec");
  if (reduction == kTensorAnd) PKB_REDUCE("and");
  if (reduction == kTensorOr) PKB_REDUCE("or");
  if (reduction == kTensorXor) PKB_REDUCE("xor");
#undef PKB_REDUCE
  if (reduction < 0 && request.rank == 2)
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
        "r"(from), "r"(c[0]), "r"(c[1])
        : "memory");
  if (reduction < 0 && request.rank == 3)
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
        "r"(from), "r"(c[0]), "r"(c[1]), "r"(c[2])
        : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

__global__ void __cluster_dims__(2)
    multicast_kernel(const __grid_constant__ CUtensorMap map, TensorRequest request, int rows,
                     std::uint8_t* out, unsigned* done) {
  __shared__ std::uint64_t bar;
  std::uint8_t* const shared = lines();
  fill_shared(shared, request);
  if (threadIdx.x == 0) {
    init(&bar);
    expect(&bar, 2 * request.transactions);
  }
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
  if (threadIdx.x == 0) {
    const unsigned to = shared_address(shared) + request.shared_offset + blockIdx.x * request.transactions;
    const std::uint16_t blocks = 3;
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, "
        "{%3, %4}], [%2], %5;" ::"r"(to),
        "l"(&map), "r"(shared_address(&bar)), "r"(request.coordinates[0]),
        "r"(request.coordinates[1] + static_cast<int>(blockIdx.x) * rows), "h"(blocks)
        : "memory");
  }
  const bool complete = wait(&bar);
  if (threadIdx.x == 0) done[blockIdx.x] = complete;
  show_shared(shared, request, out + blockIdx.x * request.shared_bytes);
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__global__ void replaced_kernel(const __grid_constant__ CUtensorMap map, TensorRequest request,
                                const void* address, unsigned box, unsigned rows, std::uint64_t stride,
                                CUtensorMap* workspace, std::uint8_t* out, unsigned* done) {
  __shared__ alignas(128) CUtensorMap changed;
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) {
      changed = map;
      const unsigned at = shared_address(&changed);
      asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at),
                   "l"(address)
                   : "memory");
      asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(box)
                   : "memory");
      asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 1, %1;" ::"r"(at), "r"(rows)
                   : "memory");
      asm volatile("tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%0], 0, %1;" ::"r"(at),
                   "l"(stride)
                   : "memory");
      asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 1;" ::"r"(at) : "memory");
    }
    __syncwarp();
    asm volatile(
        "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], "
        "128;" ::"l"(workspace),
        "r"(shared_address(&changed))
        : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(workspace) : "memory");
  load_and_show(workspace, request, out, done);
}

template <class Kernel>
cudaError_t allow_shared(Kernel kernel) {
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared + kLine);
}

}  // namespace

cudaError_t tensor_load(const CUtensorMap* map, const TensorRequest* request, std::uint8_t* out,
                        unsigned* done) {
  if (const cudaError_t error = allow_shared(load_kernel); error != cudaSuccess) return error;
  load_kernel<<<1, 128, kShared + kLine>>>(*map, *request, out, done);
  return cudaGetLastError();
}

cudaError_t tensor_store(const CUtensorMap* map, const TensorRequest* request, const std::uint8_t* in) {
  return tensor_reduce(map, request, -1, in);
}

cudaError_t tensor_reduce(const CUtensorMap* map, const TensorRequest* request, int reduction,
                          const std::uint8_t* in) {
  if (const cudaError_t error = allow_shared(store_kernel); error != cudaSuccess) return error;
  store_kernel<<<1, 128, kShared + kLine>>>(*map, *request, reduction, in);
  return cudaGetLastError();
}

cudaError_t tensor_multicast(const CUtensorMap* map, const TensorRequest* request, int rows,
                             std::uint8_t* out, unsigned* done) {
  if (const cudaError_t error = allow_shared(multicast_kernel); error != cudaSuccess) return error;
  multicast_kernel<<<2, 128, kShared + kLine>>>(*map, *request, rows, out, done);
  return cudaGetLastError();
}

cudaError_t tensor_replaced(const CUtensorMap* map, const TensorRequest* request, const void* address,
                            unsigned box, unsigned rows, std::uint64_t stride, void* workspace,
                            std::uint8_t* out, unsigned* done) {
  if (const cudaError_t error = allow_shared(replaced_kernel); error != cudaSuccess) return error;
  replaced_kernel<<<1, 128, kShared + kLine>>>(*map, *request, address, box, rows, stride,
                                               static_cast<CUtensorMap*>(workspace), out, done);
  return cudaGetLastError();
}
