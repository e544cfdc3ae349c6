// SPDX-License-Identifier: Apache-2.0
// GEMM by cuBLAS + all-reduce by loads. Every rank computes its partial product into symmetric memory; when
// all have, each adds the W partial products for itself. Barriers of one block keep the steps apart.
#include <cublas_v2.h>

#include <pkb/gemm_allreduce.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kThreads = 256;

cublasHandle_t blas;
float* partial_here;
pkb::Signals signals;

// Everything before it on this rank's stream is visible to every rank behind its own barrier.
__global__ void barrier(pkb::Signals signals) { signals.barrier(pkb::whole_block(), 0); }

__global__ void add(pkb::Peers<float> partial, T* c, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{kThreads} + threadIdx.x;
  if (i >= count) return;
  float sum = 0;
  for (int r = 0; r < partial.ranks; ++r) sum += partial[r][i];
  c[i] = static_cast<T>(sum);
}

constexpr cudaDataType type_of(float) { return CUDA_R_32F; }
constexpr cudaDataType type_of(__half) { return CUDA_R_16F; }
constexpr cudaDataType type_of(__nv_bfloat16) { return CUDA_R_16BF; }

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  partial_here = static_cast<float*>(ctx.symmetric(args.C.numel() * sizeof(float)));
  signals = pkb::Signals(ctx, 1);
  cublasCreate(&blas);
  cublasSetStream(blas, ctx.stream());
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const std::int64_t count = args.C.numel();
  if (count == 0) return;
  const int m = static_cast<int>(args.C.shape[0]), n = static_cast<int>(args.C.shape[1]);
  const int k = static_cast<int>(args.A_local.shape[1]);
  // cuBLAS counts by columns: rows of C = A B are the columns of its product B' A'.
  const float one = 1, zero = 0;
  const cudaDataType type = type_of(T{});
  cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, args.B_local.data, type, n, args.A_local.data,
               type, k, &zero, partial_here, CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  barrier<<<1, 32, 0, ctx.stream()>>>(signals);
  add<<<static_cast<unsigned>((count + kThreads - 1) / kThreads), kThreads, 0, ctx.stream()>>>(
      pkb::peers_of(ctx, partial_here), args.C.as<T>(), count);
  // No rank may begin its next product before all have read this one.
  barrier<<<1, 32, 0, ctx.stream()>>>(signals);
}

void teardown(pkb::Context&) { cublasDestroy(blas); }
