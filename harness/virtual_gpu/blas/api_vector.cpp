// SPDX-License-Identifier: Apache-2.0
// Vectors, and matrices times vectors, of single and double precision.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "harness/virtual_gpu/blas/call.h"

using namespace pkb::virtual_gpu;
using namespace pkb::virtual_gpu::blas;

namespace {

template <class T>
constexpr cudaDataType kType = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;
template <class T>
constexpr Precision kPrecision = std::is_same_v<T, float> ? Precision::f32 : Precision::f64;

/// A column of `count` elements; a negative step counts from the last element on, as BLAS has it.
template <class T>
struct Vector {
  const T* data;
  std::int64_t count, step;

  Matrix matrix() const {
    const std::int64_t apart = step < 0 ? -step : step;
    return {.data = reinterpret_cast<std::byte*>(const_cast<T*>(data)),
            .type = kType<T>,
            .rows = count,
            .columns = 1,
            .row_stride = apart,
            .column_stride = 0};
  }
  /// Element i of what Execution::matrix found for `matrix()`.
  T& at(const Matrix& here, std::int64_t i) const {
    return reinterpret_cast<T*>(here.data)[(step < 0 ? count - 1 - i : i) * here.row_stride];
  }
};

template <class T>
cublasStatus_t gemv(const char* name, cublasHandle_t handle, cublasOperation_t op, std::int64_t m, std::int64_t n,
                    const T* alpha, const T* a, std::int64_t lda, Vector<T> x, const T* beta, Vector<T> y) {
  return call(handle, [&](Device& device) {
    const bool sane = op >= CUBLAS_OP_N && op <= CUBLAS_OP_C && m >= 0 && n >= 0 && lda >= std::max<std::int64_t>(m, 1) &&
                      x.step != 0 && y.step != 0 && alpha != nullptr && beta != nullptr;
    if (!sane) return CUBLAS_STATUS_INVALID_VALUE;
    if (x.step < 0 || y.step < 0) return unsupported(device, std::string(name) + " with a negative increment");
    if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
    x.count = op == CUBLAS_OP_N ? n : m;
    y.count = op == CUBLAS_OP_N ? m : n;
    const Scalar alpha_given(alpha, kType<T>, handle->pointer_mode), beta_given(beta, kType<T>, handle->pointer_mode);
    const Matrix columns{.data = reinterpret_cast<std::byte*>(const_cast<T*>(a)),
                         .type = kType<T>,
                         .rows = m,
                         .columns = n,
                         .row_stride = 1,
                         .column_stride = lda};
    const Matrix left = op == CUBLAS_OP_N ? columns : columns.transposed();
    return submit(device, handle->stream, name, [=](Execution& work) {
      const auto alpha_now = alpha_given.value(work, "alpha");
      const auto beta_now = alpha_now ? beta_given.value(work, "beta") : std::nullopt;
      const auto a_here = beta_now ? work.matrix("A", left) : std::nullopt;
      const auto x_here = a_here ? work.matrix("x", x.matrix()) : std::nullopt;
      const auto y_here = x_here ? work.matrix("y", y.matrix(), Use::write) : std::nullopt;
      if (!y_here) return;
      multiply({.a = *a_here,
                .b = *x_here,
                .c = *y_here,
                .d = *y_here,
                .alpha = *alpha_now,
                .beta = *beta_now,
                .precision = kPrecision<T>});
    });
  });
}

/// Runs body(alpha, x here, y here) in stream order.
template <class T, class Body>
cublasStatus_t update(const char* name, cublasHandle_t handle, const T* alpha, Vector<T> x, Vector<T> y, Body body) {
  return call(handle, [&](Device& device) {
    if (alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (x.count <= 0) return CUBLAS_STATUS_SUCCESS;
    if (x.step == 0 || y.step == 0) return unsupported(device, std::string(name) + " with an increment of zero");
    const Scalar given(alpha, kType<T>, handle->pointer_mode);
    return submit(device, handle->stream, name, [=](Execution& work) {
      const auto now = given.value(work, "alpha");
      const auto x_here = now ? work.matrix("x", x.matrix()) : std::nullopt;
      const auto y_here = x_here ? work.matrix("y", y.matrix(), Use::write) : std::nullopt;
      if (y_here) body(static_cast<T>(*now), *x_here, *y_here);
    });
  });
}

template <class T>
cublasStatus_t axpy(const char* name, cublasHandle_t handle, const T* alpha, Vector<T> x, Vector<T> y) {
  return update(name, handle, alpha, x, y, [x, y](T factor, const Matrix& x_here, const Matrix& y_here) {
    for (std::int64_t i = 0; i < x.count; ++i) y.at(y_here, i) += factor * x.at(x_here, i);
  });
}

template <class T>
cublasStatus_t scal(const char* name, cublasHandle_t handle, const T* alpha, Vector<T> x) {
  return update(name, handle, alpha, x, x, [x](T factor, const Matrix& here, const Matrix&) {
    for (std::int64_t i = 0; i < x.count; ++i) x.at(here, i) *= factor;
  });
}

/// A number from two vectors, for which the host waits when the result goes there. Sums are kept in double.
template <class T, class Body>
cublasStatus_t reduce(const char* name, cublasHandle_t handle, Vector<T> x, Vector<T> y, T* result, Body body) {
  return call(handle, [&](Device& device) {
    if (result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (x.step == 0 || y.step == 0) return unsupported(device, std::string(name) + " with an increment of zero");
    const bool to_host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
    const cublasStatus_t status = submit(device, handle->stream, name, [=](Execution& work) {
      const auto x_here = work.matrix("x", x.matrix());
      const auto y_here = x_here ? work.matrix("y", y.matrix()) : std::nullopt;
      std::byte* const to = to_host ? reinterpret_cast<std::byte*>(result)
                            : y_here ? work.bytes("the result", result, sizeof(T), Use::write) : nullptr;
      if (!y_here || to == nullptr) return;
      double sum = 0;
      for (std::int64_t i = 0; i < x.count; ++i) sum += double{x.at(*x_here, i)} * double{y.at(*y_here, i)};
      *reinterpret_cast<T*>(to) = static_cast<T>(body(sum));
    });
    if (status != CUBLAS_STATUS_SUCCESS || !to_host) return status;
    return cudaStreamSynchronize(handle->stream) == cudaSuccess ? status : CUBLAS_STATUS_EXECUTION_FAILED;
  });
}

}  // namespace

#define PKB_VECTORS(prefix, T)                                                                                     \
  cublasStatus_t prefix##gemv(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,           \
                              const T* a, int lda, const T* x, int incx, const T* beta, T* y, int incy) {          \
    return gemv<T>(#prefix "gemv", handle, op, m, n, alpha, a, lda, {x, 0, incx}, beta, {y, 0, incy});             \
  }                                                                                                                \
  cublasStatus_t prefix##axpy(cublasHandle_t handle, int n, const T* alpha, const T* x, int incx, T* y, int incy) { \
    return axpy<T>(#prefix "axpy", handle, alpha, {x, n, incx}, {y, n, incy});                                     \
  }                                                                                                                \
  cublasStatus_t prefix##scal(cublasHandle_t handle, int n, const T* alpha, T* x, int incx) {                      \
    return scal<T>(#prefix "scal", handle, alpha, {x, n, incx});                                                   \
  }                                                                                                                \
  cublasStatus_t prefix##dot(cublasHandle_t handle, int n, const T* x, int incx, const T* y, int incy, T* result) { \
    return reduce<T>(#prefix "dot", handle, {x, n, incx}, {y, n, incy}, result, [](double sum) { return sum; });   \
  }                                                                                                                \
  cublasStatus_t prefix##nrm2(cublasHandle_t handle, int n, const T* x, int incx, T* result) {                     \
    return reduce<T>(#prefix "nrm2", handle, {x, n, incx}, {x, n, incx}, result,                                   \
                     [](double sum) { return std::sqrt(sum); });                                                   \
  }
PKB_VECTORS(cublasS, float)
PKB_VECTORS(cublasD, double)
