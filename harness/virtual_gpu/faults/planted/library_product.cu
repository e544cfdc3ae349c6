// SPDX-License-Identifier: Apache-2.0
// GEMM by cuBLAS on a stream of its own, and a kernel that adds the partial products of all ranks. Forms differ in what
// orders the library's accesses against the kernels'.
#include <cublas_v2.h>

#include <pkb/device.cuh>
#include <pkb/gemm_allreduce.h>

namespace {

using pkb::T;
constexpr int kThreads = 256;

cublasHandle_t blas;
cudaStream_t other;
cudaEvent_t ready, multiplied;
float* partial;
T* operand;
pkb::Signals signals;

__global__ void barrier(pkb::Signals signals) { signals.barrier(pkb::whole_block(), 0); }

__global__ void copy(const T* from, T* to, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i < count) to[i] = from[i];  // @copy
}

__global__ void add(pkb::Peers<float> partial, T* c, int count) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int r = 0; r < partial.ranks; ++r) sum += partial[r][i];  // @sum
  c[i] = static_cast<T>(sum);
}

int blocks_of(int count) { return (count + kThreads - 1) / kThreads; }
constexpr cudaDataType type_of(float) { return CUDA_R_32F; }
constexpr cudaDataType type_of(__half) { return CUDA_R_16F; }
constexpr cudaDataType type_of(__nv_bfloat16) { return CUDA_R_16BF; }

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  partial = static_cast<float*>(ctx.symmetric(args.C.numel() * sizeof(float)));
  cudaMalloc(&operand, args.A_local.numel() * sizeof(T));
  signals = pkb::Signals(ctx, 1);
  cublasCreate(&blas);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  cublasSetStream(blas, other);
  for (cudaEvent_t* each : {&ready, &multiplied}) cudaEventCreateWithFlags(each, cudaEventDisableTiming);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int count = static_cast<int>(args.C.numel()), m = static_cast<int>(args.C.shape[0]),
            n = static_cast<int>(args.C.shape[1]), k = static_cast<int>(args.A_local.shape[1]);
  if (count == 0) return;
  const float one = 1, zero = 0;
  const cudaDataType type = type_of(T{});
#ifdef READ_TOO_EARLY
  cudaEventRecord(ready, ctx.stream());
#endif
  copy<<<blocks_of(m * k), kThreads, 0, ctx.stream()>>>(args.A_local.as<T>(), operand, m * k);
#ifndef READ_TOO_EARLY
  cudaEventRecord(ready, ctx.stream());
#endif
  cudaStreamWaitEvent(other, ready);
  // cuBLAS counts by columns: rows of C = A B are the columns of its product B' A'.
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, args.B_local.data, type, n, operand, type, k, &zero,
               partial, CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  cudaEventRecord(multiplied, other);
#ifndef WRITTEN_TOO_LATE
  cudaStreamWaitEvent(ctx.stream(), multiplied);
#endif
#ifndef NO_BARRIER
  barrier<<<1, 32, 0, ctx.stream()>>>(signals);
#endif
  add<<<blocks_of(count), kThreads, 0, ctx.stream()>>>(pkb::peers_of(ctx, partial), args.C.as<T>(), count);
  // No rank may begin its next product before all have read this one, nor end while its own runs.
  cudaStreamWaitEvent(ctx.stream(), multiplied);
  barrier<<<1, 32, 0, ctx.stream()>>>(signals);
}

void teardown(pkb::Context&) {
  cublasDestroy(blas);
  cudaStreamDestroy(other);
  for (cudaEvent_t each : {ready, multiplied}) cudaEventDestroy(each);
  cudaFree(operand);
}
