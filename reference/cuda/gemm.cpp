// SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "reference/cuda/backend.h"
#include "reference/cuda_check.h"
#include "reference/device.h"

namespace pkb::ref {
namespace {

void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(what) + ": " + cublasLtGetStatusName(status) + ", " +
                             cublasLtGetStatusString(status));
}

constexpr std::uint64_t kWorkspaceLimit = 32 << 20;  // what PyTorch gives cuBLASLt on Hopper

struct Types {
  cudaDataType_t element, scalar;
  cublasComputeType_t compute;
};

Types types_of(DType dtype) {
  switch (dtype) {
    case DType::bf16:
      return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::f16:
      return {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::f32:
      return {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case DType::f64:
      return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
    case DType::i8:
    case DType::u8:
    case DType::i32:
    case DType::i64:
    case DType::e4m3:
    case DType::e5m2:
      break;
  }
  throw std::runtime_error("gemm: no kernel for " + std::string(name_of(dtype)));
}

/// A product that cuBLASLt has been asked about once: its descriptors and the algorithm for them.
struct Plan {
  cublasLtMatmulDesc_t operation{};
  cublasLtMatrixLayout_t first{}, second{}, result{};
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t workspace = 0;
};

template <class Value>
void set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}
template <class Value>
void set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const Value& value) {
  check(cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
        "cublasLtMatrixLayoutSetAttribute");
}
template <class Value>
void set(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtMatrixLayout_t layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                              const Gemm& gemm, std::int64_t batch_stride) {
  cublasLtMatrixLayout_t result{};
  check(cublasLtMatrixLayoutCreate(&result, type, static_cast<std::uint64_t>(rows),
                                   static_cast<std::uint64_t>(columns), ld),
        "cublasLtMatrixLayoutCreate");
  if (gemm.batch > 1) {
    set(result, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(gemm.batch));
    set(result, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, batch_stride);
  }
  return result;
}

/// The largest power of two up to 256 that divides the address.
std::uint32_t alignment_of(const std::byte* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data) | 256u;
  return static_cast<std::uint32_t>(address & -address);
}

// cuBLASLt is column-major: the row-major c = a b is its c' = b' a', with `b` as the first operand.
Plan make_plan(cublasLtHandle_t handle, const Gemm& gemm) {
  const Types types = types_of(gemm.dtype);
  Plan plan;
  check(cublasLtMatmulDescCreate(&plan.operation, types.compute, types.scalar), "cublasLtMatmulDescCreate");
  const auto side = [&](const Matrix& matrix, std::int64_t rows, std::int64_t columns,
                        cublasLtMatmulDescAttributes_t attribute) {
    set(plan.operation, attribute, matrix.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    // As stored: the row-major (rows, columns) is the column-major (columns, rows).
    return matrix.transposed ? layout(types.element, rows, columns, matrix.ld, gemm, matrix.batch_stride)
                             : layout(types.element, columns, rows, matrix.ld, gemm, matrix.batch_stride);
  };
  plan.first = side(gemm.b, gemm.k, gemm.n, CUBLASLT_MATMUL_DESC_TRANSA);
  plan.second = side(gemm.a, gemm.m, gemm.k, CUBLASLT_MATMUL_DESC_TRANSB);
  plan.result = layout(types.element, gemm.n, gemm.m, gemm.c_ld, gemm, gemm.c_batch_stride);

  if (gemm.bias) {
    // A term per row of the column-major result, whose rows are our columns. The pointer is set at each call.
    set(plan.operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
  }

  cublasLtMatmulPreference_t preference{};
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceLimit);
  // Split sums are added in fp32, never in the output's type, so that each element is rounded once.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(gemm.b.data));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(gemm.a.data));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(gemm.c));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(gemm.c));
  cublasLtMatmulHeuristicResult_t best{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, plan.operation, plan.first, plan.second, plan.result,
                                       plan.result, preference, 1, &best, &found),
        "cublasLtMatmulAlgoGetHeuristic");
  check(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
  if (found == 0) throw std::runtime_error("gemm: cuBLASLt has no algorithm for this product");
  plan.algorithm = best.algo;
  plan.workspace = best.workspaceSize;
  return plan;
}

/// Per device, for the life of the process. A repeated product then costs one call.
struct Planner {
  cublasLtHandle_t handle{};
  using Key = std::array<std::int64_t, 18>;
  std::map<Key, Plan> plans;

  const Plan& plan(const Gemm& gemm) {
    if (!handle) check(cublasLtCreate(&handle), "cublasLtCreate");
    const Key key{static_cast<std::int64_t>(gemm.dtype),
                  gemm.m,
                  gemm.n,
                  gemm.k,
                  gemm.batch,
                  gemm.a.transposed,
                  gemm.a.ld,
                  gemm.a.batch_stride,
                  gemm.b.transposed,
                  gemm.b.ld,
                  gemm.b.batch_stride,
                  gemm.c_ld,
                  gemm.c_batch_stride,
                  alignment_of(gemm.a.data),
                  alignment_of(gemm.b.data),
                  alignment_of(gemm.c),
                  gemm.bias != nullptr,
                  gemm.bias ? alignment_of(gemm.bias) : 0};
    const auto known = plans.find(key);
    return known != plans.end() ? known->second : plans.emplace(key, make_plan(handle, gemm)).first->second;
  }
};

}  // namespace

void gemm_on_cuda(const Gemm& gemm) {
  static std::mutex mutex;
  static auto* const planners = new std::map<int, Planner>;
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  const std::scoped_lock lock(mutex);
  Planner& planner = (*planners)[device];
  const Plan& plan = planner.plan(gemm);
  if (gemm.bias) set(plan.operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
  const auto workspace = device_allocate(plan.workspace);
  const float one = 1, zero = 0;
  const double wide_one = 1, wide_zero = 0;
  const bool wide = gemm.dtype == DType::f64;
  const void* const alpha = wide ? static_cast<const void*>(&wide_one) : &one;
  const void* const beta = wide ? static_cast<const void*>(&wide_zero) : &zero;
  check(cublasLtMatmul(planner.handle, plan.operation, alpha, gemm.b.data, plan.first, gemm.a.data,
                       plan.second, beta, gemm.c, plan.result, gemm.c, plan.result, &plan.algorithm,
                       workspace.get(), plan.workspace, current_stream()),
        "cublasLtMatmul");
}

}  // namespace pkb::ref
