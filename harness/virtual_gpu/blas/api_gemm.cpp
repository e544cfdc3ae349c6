// SPDX-License-Identifier: Apache-2.0
// The products of cuBLAS: single, batched by stride, batched by pointers; of every mix of types.
#include <algorithm>
#include <string>

#include "harness/virtual_gpu/blas/call.h"

using namespace pkb::virtual_gpu;
using namespace pkb::virtual_gpu::blas;

namespace {

struct Operand {
  const void* data;
  cudaDataType type;
  std::int64_t leading;
  long long stride = 0;  ///< between batches, in elements
};

/// A call in terms of all of them.
struct Gemm {
  const char* name;
  cublasOperation_t op_a, op_b;
  std::int64_t m, n, k;
  const void* alpha;
  Operand a, b;
  const void* beta;
  Operand c;
  std::int64_t batches = 1;
  bool by_pointers = false;  ///< the operands are arrays of pointers
  Compute compute = {};
};

Matrix columns_of(const void* data, const Operand& operand, std::int64_t rows, std::int64_t columns) {
  return {.data = static_cast<std::byte*>(const_cast<void*>(data)),
          .type = operand.type,
          .rows = rows,
          .columns = columns,
          .row_stride = 1,
          .column_stride = operand.leading};
}

bool is_sane(const Gemm& g) {
  const auto is_operation = [](cublasOperation_t op) {
    return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C;
  };
  if (!is_operation(g.op_a) || !is_operation(g.op_b) || g.m < 0 || g.n < 0 || g.k < 0 || g.batches < 0) return false;
  if (g.alpha == nullptr || g.beta == nullptr) return false;
  const std::int64_t a_rows = g.op_a == CUBLAS_OP_N ? g.m : g.k, b_rows = g.op_b == CUBLAS_OP_N ? g.k : g.n;
  const auto fits = [](std::int64_t leading, std::int64_t rows) { return leading >= std::max<std::int64_t>(rows, 1); };
  return fits(g.a.leading, a_rows) && fits(g.b.leading, b_rows) && fits(g.c.leading, g.m);
}

// Batch `i` of an operand.
const void* batch_of(Execution& work, const char* name, const Operand& operand, bool by_pointers, std::int64_t i) {
  if (!by_pointers) {
    const long long offset = operand.stride * i * static_cast<long long>(size_of(operand.type));
    return static_cast<const std::byte*>(operand.data) + offset;
  }
  const auto* const entry = static_cast<const void* const*>(operand.data) + i;
  const std::byte* const here = work.bytes(name, entry, sizeof(void*));
  return here == nullptr ? nullptr : *reinterpret_cast<const void* const*>(here);
}

void run_batch(Execution& work, const Gemm& g, std::int64_t i, double alpha, double beta) {
  const void* const a = batch_of(work, "the array of A", g.a, g.by_pointers, i);
  const void* const b = batch_of(work, "the array of B", g.b, g.by_pointers, i);
  const void* const c = batch_of(work, "the array of C", g.c, g.by_pointers, i);
  if (a == nullptr || b == nullptr || c == nullptr) return;
  const auto side = [&](const void* data, const Operand& operand, cublasOperation_t op, std::int64_t rows,
                        std::int64_t columns) {
    return op == CUBLAS_OP_N ? columns_of(data, operand, rows, columns)
                             : columns_of(data, operand, columns, rows).transposed();
  };
  const auto a_here = work.matrix("A", side(a, g.a, g.op_a, g.m, g.k));
  const auto b_here = a_here ? work.matrix("B", side(b, g.b, g.op_b, g.k, g.n)) : std::nullopt;
  const auto c_here = b_here ? work.matrix("C", columns_of(c, g.c, g.m, g.n), Use::write) : std::nullopt;
  if (!c_here) return;
  multiply({.a = *a_here,
            .b = *b_here,
            .c = *c_here,
            .d = *c_here,
            .alpha = alpha,
            .beta = beta,
            .precision = g.compute.precision});
}

cublasStatus_t gemm(cublasHandle_t handle, const Gemm& g) {
  return call(handle, [&](Device& device) {
    if (!is_sane(g)) return CUBLAS_STATUS_INVALID_VALUE;
    for (const Operand* operand : {&g.a, &g.b, &g.c}) {
      if (size_of(operand->type) == 0) {
        return unsupported(device, std::string(g.name) + " on elements of type " + std::to_string(operand->type));
      }
    }
    if (g.m == 0 || g.n == 0 || g.batches == 0) return CUBLAS_STATUS_SUCCESS;
    const Scalar alpha(g.alpha, g.compute.scale, handle->pointer_mode);
    const Scalar beta(g.beta, g.compute.scale, handle->pointer_mode);
    return submit(device, handle->stream, g.name, [g, alpha, beta](Execution& work) {
      const auto alpha_now = alpha.value(work, "alpha");
      const auto beta_now = alpha_now ? beta.value(work, "beta") : std::nullopt;
      for (std::int64_t i = 0; beta_now && i < g.batches; ++i) run_batch(work, g, i, *alpha_now, *beta_now);
    });
  });
}

cublasStatus_t gemm_as(cublasHandle_t handle, Gemm g, cublasComputeType_t type) {
  const auto compute = compute_of(type);
  if (!compute) return CUBLAS_STATUS_INVALID_VALUE;
  g.compute = *compute;
  // Integer sums that end as floats are scaled as floats.
  if (g.compute.precision == Precision::i32 && g.c.type != CUDA_R_32I) g.compute = {Precision::f32, CUDA_R_32F};
  return gemm(handle, g);
}

}  // namespace

// Each function exists for int and for 64-bit sizes.
#define PKB_HEAD(I) cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, I m, I n, I k
#define PKB_SIZES .op_a = op_a, .op_b = op_b, .m = m, .n = n, .k = k

#define PKB_GEMM_OF(function, T, type, precision, I)                                                                  \
  cublasStatus_t function(PKB_HEAD(I), const T* alpha, const T* a, I lda, const T* b, I ldb, const T* beta, T* c,     \
                      I ldc) {                                                                                    \
    return gemm(handle, {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type, lda}, .b = {b, type, ldb},      \
                         .beta = beta, .c = {c, type, ldc}, .compute = {precision, type}});                       \
  }
#define PKB_GEMM_STRIDED_OF(function, T, type, precision, I)                                                          \
  cublasStatus_t function(PKB_HEAD(I), const T* alpha, const T* a, I lda, long long stride_a, const T* b, I ldb,      \
                      long long stride_b, const T* beta, T* c, I ldc, long long stride_c, I batches) {            \
    return gemm(handle, {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type, lda, stride_a},                 \
                         .b = {b, type, ldb, stride_b}, .beta = beta, .c = {c, type, ldc, stride_c},              \
                         .batches = batches, .compute = {precision, type}});                                      \
  }
#define PKB_GEMM_BATCHED_OF(function, T, type, precision, I)                                                          \
  cublasStatus_t function(PKB_HEAD(I), const T* alpha, const T* const a[], I lda, const T* const b[], I ldb,          \
                      const T* beta, T* const c[], I ldc, I batches) {                                            \
    return gemm(handle, {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type, lda}, .b = {b, type, ldb},      \
                         .beta = beta, .c = {c, type, ldc}, .batches = batches, .by_pointers = true,              \
                         .compute = {precision, type}});                                                          \
  }
#define PKB_GEMMS(prefix, T, type, precision)                                         \
  PKB_GEMM_OF(prefix##gemm, T, type, precision, int)                                  \
  PKB_GEMM_OF(prefix##gemm_64, T, type, precision, std::int64_t)                      \
  PKB_GEMM_STRIDED_OF(prefix##gemmStridedBatched, T, type, precision, int)            \
  PKB_GEMM_STRIDED_OF(prefix##gemmStridedBatched_64, T, type, precision, std::int64_t) \
  PKB_GEMM_BATCHED_OF(prefix##gemmBatched, T, type, precision, int)                   \
  PKB_GEMM_BATCHED_OF(prefix##gemmBatched_64, T, type, precision, std::int64_t)
PKB_GEMMS(cublasS, float, CUDA_R_32F, Precision::f32)
PKB_GEMMS(cublasD, double, CUDA_R_64F, Precision::f64)
PKB_GEMMS(cublasH, __half, CUDA_R_16F, Precision::f32)

#define PKB_GEMM_EX(function, I)                                                                                       \
  cublasStatus_t function(PKB_HEAD(I), const void* alpha, const void* a, cudaDataType type_a, I lda, const void* b,    \
                      cudaDataType type_b, I ldb, const void* beta, void* c, cudaDataType type_c, I ldc,           \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                                             \
    return gemm_as(handle,                                                                                         \
                   {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type_a, lda}, .b = {b, type_b, ldb},        \
                    .beta = beta, .c = {c, type_c, ldc}},                                                          \
                   compute);                                                                                       \
  }
PKB_GEMM_EX(cublasGemmEx, int)
PKB_GEMM_EX(cublasGemmEx_64, std::int64_t)

#define PKB_SGEMM_EX(function, I)                                                                                      \
  cublasStatus_t function(PKB_HEAD(I), const float* alpha, const void* a, cudaDataType type_a, I lda, const void* b,   \
                      cudaDataType type_b, I ldb, const float* beta, void* c, cudaDataType type_c, I ldc) {        \
    return gemm(handle, {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type_a, lda}, .b = {b, type_b, ldb},   \
                         .beta = beta, .c = {c, type_c, ldc}});                                                    \
  }
PKB_SGEMM_EX(cublasSgemmEx, int)
PKB_SGEMM_EX(cublasSgemmEx_64, std::int64_t)

#define PKB_GEMM_STRIDED_EX(function, I)                                                                               \
  cublasStatus_t function(PKB_HEAD(I), const void* alpha, const void* a, cudaDataType type_a, I lda,                   \
                      long long stride_a, const void* b, cudaDataType type_b, I ldb, long long stride_b,           \
                      const void* beta, void* c, cudaDataType type_c, I ldc, long long stride_c, I batches,        \
                      cublasComputeType_t compute, cublasGemmAlgo_t) {                                             \
    return gemm_as(handle,                                                                                         \
                   {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type_a, lda, stride_a},                     \
                    .b = {b, type_b, ldb, stride_b}, .beta = beta, .c = {c, type_c, ldc, stride_c},                \
                    .batches = batches},                                                                           \
                   compute);                                                                                       \
  }
PKB_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx, int)
PKB_GEMM_STRIDED_EX(cublasGemmStridedBatchedEx_64, std::int64_t)

#define PKB_GEMM_BATCHED_EX(function, I)                                                                               \
  cublasStatus_t function(PKB_HEAD(I), const void* alpha, const void* const a[], cudaDataType type_a, I lda,           \
                      const void* const b[], cudaDataType type_b, I ldb, const void* beta, void* const c[],        \
                      cudaDataType type_c, I ldc, I batches, cublasComputeType_t compute, cublasGemmAlgo_t) {      \
    return gemm_as(handle,                                                                                         \
                   {.name = #function, PKB_SIZES, .alpha = alpha, .a = {a, type_a, lda}, .b = {b, type_b, ldb},        \
                    .beta = beta, .c = {c, type_c, ldc}, .batches = batches, .by_pointers = true},                 \
                   compute);                                                                                       \
  }
PKB_GEMM_BATCHED_EX(cublasGemmBatchedEx, int)
PKB_GEMM_BATCHED_EX(cublasGemmBatchedEx_64, std::int64_t)
