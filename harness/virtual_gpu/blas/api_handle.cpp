// SPDX-License-Identifier: Apache-2.0
// Handles of cuBLAS and their settings, and copies of vectors and matrices.
#include "harness/virtual_gpu/blas/call.h"

using namespace pkb::virtual_gpu;
using namespace pkb::virtual_gpu::blas;

namespace {

constexpr int kVersion = CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH;

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

struct Columns {
  int rows, columns, element;
  const void* from;
  int from_apart;
  void* to;
  int to_apart;
};
cublasStatus_t copy_columns(const Columns& c, cudaMemcpyKind kind) {
  if (c.rows < 0 || c.columns < 0 || c.element <= 0 || c.from_apart <= 0 || c.to_apart <= 0) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const auto bytes = [&](int count) { return static_cast<std::size_t>(count) * static_cast<std::size_t>(c.element); };
  return status_of(cudaMemcpy2D(c.to, bytes(c.to_apart), c.from, bytes(c.from_apart), bytes(c.rows),
                                static_cast<std::size_t>(c.columns), kind));
}

}  // namespace

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return call([&](Device&) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *handle = new cublasContext;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  cudaStreamSynchronize(handle->stream);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = kVersion;
  return CUBLAS_STATUS_SUCCESS;
}

std::size_t cublasGetCudartVersion() { return CUDART_VERSION; }

// A setting of the handle: one function sets it, another tells it.
#define PKB_SETTING(set_name, get_name, type, member)        \
  cublasStatus_t set_name(cublasHandle_t handle, type value) { \
    return call(handle, [&](Device&) {                       \
      handle->member = value;                                \
      return CUBLAS_STATUS_SUCCESS;                          \
    });                                                      \
  }                                                          \
  cublasStatus_t get_name(cublasHandle_t handle, type* value) { \
    return call(handle, [&](Device&) {                       \
      if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE; \
      *value = handle->member;                               \
      return CUBLAS_STATUS_SUCCESS;                          \
    });                                                      \
  }
PKB_SETTING(cublasSetStream, cublasGetStream, cudaStream_t, stream)
PKB_SETTING(cublasSetPointerMode, cublasGetPointerMode, cublasPointerMode_t, pointer_mode)
PKB_SETTING(cublasSetMathMode, cublasGetMathMode, cublasMath_t, math_mode)
PKB_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, cublasAtomicsMode_t, atomics_mode)
PKB_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_count)

// No workspace is ever needed.
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void*, std::size_t) {
  return call(handle, [](Device&) { return CUBLAS_STATUS_SUCCESS; });
}

const char* cublasGetStatusName(cublasStatus_t status) {
#define PKB_STATUS(name) \
  case name: return #name
  switch (status) {
    PKB_STATUS(CUBLAS_STATUS_SUCCESS);
    PKB_STATUS(CUBLAS_STATUS_NOT_INITIALIZED);
    PKB_STATUS(CUBLAS_STATUS_ALLOC_FAILED);
    PKB_STATUS(CUBLAS_STATUS_INVALID_VALUE);
    PKB_STATUS(CUBLAS_STATUS_ARCH_MISMATCH);
    PKB_STATUS(CUBLAS_STATUS_MAPPING_ERROR);
    PKB_STATUS(CUBLAS_STATUS_EXECUTION_FAILED);
    PKB_STATUS(CUBLAS_STATUS_INTERNAL_ERROR);
    PKB_STATUS(CUBLAS_STATUS_NOT_SUPPORTED);
    PKB_STATUS(CUBLAS_STATUS_LICENSE_ERROR);
  }
#undef PKB_STATUS
  return "unknown status";
}

const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

cublasStatus_t cublasSetMatrix(int rows, int columns, int element, const void* from, int from_apart, void* to,
                               int to_apart) {
  return copy_columns({rows, columns, element, from, from_apart, to, to_apart}, cudaMemcpyHostToDevice);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int element, const void* from, int from_apart, void* to,
                               int to_apart) {
  return copy_columns({rows, columns, element, from, from_apart, to, to_apart}, cudaMemcpyDeviceToHost);
}
// A vector is a row of a matrix: single elements, so far apart.
cublasStatus_t cublasSetVector(int count, int element, const void* from, int from_apart, void* to, int to_apart) {
  return copy_columns({1, count, element, from, from_apart, to, to_apart}, cudaMemcpyHostToDevice);
}
cublasStatus_t cublasGetVector(int count, int element, const void* from, int from_apart, void* to, int to_apart) {
  return copy_columns({1, count, element, from, from_apart, to, to_apart}, cudaMemcpyDeviceToHost);
}
