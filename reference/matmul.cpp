// SPDX-License-Identifier: Apache-2.0
#include <cblas.h>

#include <algorithm>
#include <limits>

#include "reference/cuda_backend.h"
#include "reference/iteration.h"
#include "reference/ops.h"
#include "reference/scalar.h"

namespace pkb::ref {
namespace {

/// A (B, M, N) tensor whose matrices are row- or column-major without gaps inside rows; a copy if it was not.
struct Batch {
  Tensor tensor;
  Matrix matrix;

  explicit Batch(const Tensor& in) : tensor(in) {
    if (!describe()) {
      tensor = tensor.contiguous();
      describe();
    }
  }

 private:
  bool describe() {
    const std::int64_t rows = tensor.size(1), columns = tensor.size(2);
    const std::int64_t row_stride = tensor.strides()[1], column_stride = tensor.strides()[2];
    matrix.data = tensor.data();
    matrix.batch_stride = tensor.strides()[0];
    if ((column_stride == 1 || columns == 1) && (row_stride >= columns || rows == 1)) {
      matrix.transposed = false;
      matrix.ld = rows == 1 ? columns : row_stride;
      return true;
    }
    matrix.transposed = true;
    matrix.ld = columns == 1 ? rows : column_stride;
    return (row_stride == 1 || rows == 1) && (column_stride >= rows || columns == 1);
  }
};

/// Converts without losing the order of a transposed view, which a dense result in row-major order would.
Tensor widened(const Tensor& in) {
  const bool column_major = in.strides()[1] == 1 && in.strides()[2] != 1;
  return column_major ? in.transpose(1, 2).to(DType::f32).transpose(1, 2) : in.to(DType::f32);
}

int blas_int(std::int64_t number) {
  require(number <= std::numeric_limits<int>::max(), "matmul: extent {} is beyond what OpenBLAS takes",
          number);
  return static_cast<int>(number);
}

void gemm_on_host(const Gemm& gemm) {
  const auto order = [](const Matrix& matrix) { return matrix.transposed ? CblasTrans : CblasNoTrans; };
  const int m = blas_int(gemm.m), n = blas_int(gemm.n), k = blas_int(gemm.k);
  const int lda = blas_int(gemm.a.ld), ldb = blas_int(gemm.b.ld), ldc = blas_int(gemm.c_ld);
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    if (gemm.dtype == DType::f32)
      cblas_sgemm(CblasRowMajor, order(gemm.a), order(gemm.b), m, n, k, 1,
                  reinterpret_cast<const float*>(gemm.a.data) + i * gemm.a.batch_stride, lda,
                  reinterpret_cast<const float*>(gemm.b.data) + i * gemm.b.batch_stride, ldb, 0,
                  reinterpret_cast<float*>(gemm.c) + i * gemm.c_batch_stride, ldc);
    else
      cblas_dgemm(CblasRowMajor, order(gemm.a), order(gemm.b), m, n, k, 1,
                  reinterpret_cast<const double*>(gemm.a.data) + i * gemm.a.batch_stride, lda,
                  reinterpret_cast<const double*>(gemm.b.data) + i * gemm.b.batch_stride, ldb, 0,
                  reinterpret_cast<double*>(gemm.c) + i * gemm.c_batch_stride, ldc);
  }
}

/// The first rows of one matrix, taken in turn: (1, M, N) -> (turns, M / turns, N), row i of which is row i * turns + b
/// of the whole.
Tensor in_turns(const Tensor& in, std::int64_t turns) {
  const std::int64_t each = in.size(1) / turns;
  return in.squeeze(0).narrow(0, 0, each * turns).view({each, turns, in.size(2)}).transpose(0, 1);
}

/// out = a b, and on cuda the bias, where there is one; nothing is empty. Rows of `out` are dense.
void multiply(const Tensor& out, const Tensor& a, const Tensor& b, const Tensor& bias) {
  const std::int64_t m = a.size(1), k = a.size(2), n = b.size(2), row_stride = a.strides()[1];
  if (a.size(0) == 1 && b.size(0) == 1 && m > 1 && a.strides()[2] == 1 && row_stride > 0 && row_stride < k) {
    // Rows that overlap, as windows do, make no matrix, but every so-many-th of them do: a batch of those, which lies
    // interleaved in `a` and in `out`, copies nothing.
    const std::int64_t turns = (k + row_stride - 1) / row_stride, rest = m % turns;
    if (m >= turns) multiply(in_turns(out, turns), in_turns(a, turns), b, bias);
    if (rest > 0) multiply(out.narrow(1, m - rest, rest), a.narrow(1, m - rest, rest).contiguous(), b, bias);
    return;
  }
  const Batch left(a), right(b);
  Gemm gemm{a.dtype(),     m,          n, k, out.size(0), left.matrix, right.matrix, out.data(), out.strides()[1],
            out.strides()[0]};
  if (a.size(0) == 1) gemm.a.batch_stride = 0;
  if (b.size(0) == 1) gemm.b.batch_stride = 0;
  if (a.place() == Place::host) return gemm_on_host(gemm);
  gemm.bias = bias.numel() > 0 ? bias.data() : nullptr;
  cuda_backend().gemm(gemm);
}

/// (B, M, K) x (B, K, N) + bias; batches of 1 serve all. A bias has N elements or none at all.
Tensor batched(const Tensor& a, const Tensor& b, const Tensor& bias = {}) {
  const std::int64_t batch = std::max(a.size(0), b.size(0)), m = a.size(1), n = b.size(2);
  const bool biased = bias.numel() > 0;
  if (a.size(2) == 0) {
    Tensor out = Tensor::zeros({batch, m, n}, a.dtype(), a.place());
    return biased ? out.copy_(bias) : out;
  }
  if (a.place() == Place::host && size_of(a.dtype()) == 2)
    return batched(widened(a), widened(b), bias.to(DType::f32)).to(a.dtype());
  const Tensor out = Tensor::empty({batch, m, n}, a.dtype(), a.place());
  if (out.numel() == 0) return out;
  multiply(out, a, b, bias);
  return biased && a.place() == Place::host ? out + bias : out;
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(x.dim() > 0 && weight.dim() == 2 && weight.size(1) == x.size(-1), "linear: {} with a weight of {}",
          x.shape(), weight.shape());
  for (const Tensor* each : {&weight, &bias}) {
    if (each->numel() == 0) continue;
    require<DTypeError>(each->dtype() == x.dtype(), "linear: {} with {}; convert one", x.dtype(), each->dtype());
    require(each->place() == x.place(), "linear: {} with {}; move one", name_of(x.place()), name_of(each->place()));
  }
  require(bias.numel() == 0 || bias.shape() == Shape{weight.size(0)}, "linear: a weight of {} with a bias of {}",
          weight.shape(), bias.shape());
  Shape shape = x.shape();
  shape.back() = weight.size(0);
  const std::int64_t rows = numel({shape.begin(), shape.end() - 1});
  return batched(x.reshape({1, rows, x.size(-1)}), weight.t().unsqueeze(0), bias.contiguous()).view(std::move(shape));
}

Tensor matmul(const Tensor& a, const Tensor& b) {
  require(a.dim() > 0 && b.dim() > 0, "matmul: {} x {}: a scalar is no matrix", a.shape(), b.shape());
  require<DTypeError>(a.dtype() == b.dtype(), "matmul: {} x {}; convert one", a.dtype(), b.dtype());
  require(a.place() == b.place(), "matmul: {} x {}; move one", name_of(a.place()), name_of(b.place()));
  visit_floating(a.dtype(), "matmul", [](auto) {});
  if (a.dim() == 1) return matmul(a.unsqueeze(0), b).squeeze(b.dim() == 1 ? 0 : -2);
  if (b.dim() == 1) return matmul(a, b.unsqueeze(1)).squeeze(-1);
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  require(b.size(-2) == k, "matmul: {} x {}: inner extents differ", a.shape(), b.shape());
  if (b.dim() == 2) {
    // One product: leading dimensions of `a` are more rows.
    Shape shape = a.shape();
    shape.back() = n;
    const std::int64_t rows = numel(a.shape()) == 0 ? numel({shape.begin(), shape.end() - 1}) : -1;
    return batched(a.dim() == 2 ? a.unsqueeze(0) : a.reshape({1, rows, k}), b.unsqueeze(0))
        .view(std::move(shape));
  }
  const Shape lead = broadcast_shape("matmul", Shape(a.shape().begin(), a.shape().end() - 2),
                                     Shape(b.shape().begin(), b.shape().end() - 2));
  const std::int64_t batch = numel(lead);
  const auto flattened = [&](const Tensor& in, std::int64_t rows, std::int64_t columns) {
    if (in.dim() == 2) return in.unsqueeze(0);
    Shape full = lead;
    full.insert(full.end(), {rows, columns});
    return in.expand(full).reshape({batch, rows, columns});
  };
  Shape shape = lead;
  shape.insert(shape.end(), {m, n});
  return batched(flattened(a, m, k), flattened(b, k, n)).view(std::move(shape));
}

}  // namespace pkb::ref
