// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "reference/communicator.h"
#include "reference/dtype.h"

namespace pkb::ref {

/// A batch of matrices in memory: element (i, j) of matrix b is at b * batch_stride + i * ld + j, or + i + j
/// * ld when `transposed`.
struct Matrix {
  const std::byte* data;
  bool transposed;
  std::int64_t ld, batch_stride;
};

/// c[b] = a[b] * b[b] + bias: (m, k) x (k, n), no extent 0. Element (i, j) of c[b] is at b * c_batch_stride + i *
/// c_ld + j, so that the matrices may lie between each other's rows; bias has n elements or is null.
struct Gemm {
  DType dtype;
  std::int64_t m, n, k, batch;
  Matrix a, b;
  std::byte* c;
  std::int64_t c_ld, c_batch_stride;
  const std::byte* bias = nullptr;
};

/// A batch of one-dimensional transforms of contiguous rows, unscaled; complex numbers are pairs.
struct Fft {
  enum class Kind : std::uint8_t { forward, inverse, real_to_complex, complex_to_real };
  Kind kind;
  DType dtype;  ///< of the parts: fp32 or fp64
  std::int64_t length, batch;
  std::byte *in, *out;  ///< complex_to_real may spoil `in`
};

/// What comes from the libraries that only a GPU needs: the module `libpkb_reference_cuda.so` beside this
/// library.
struct CudaBackend {
  void (*gemm)(const Gemm& gemm);  ///< on the current stream; bf16, fp16, fp32 or fp64
  void (*fft)(const Fft& fft);     ///< on the current stream
  /// Collective over `comm`, on the current device of each rank; no two ranks may share one.
  std::unique_ptr<Communicator> (*nccl)(MPI_Comm comm);
};

/// Loads the module on first use. @throws std::runtime_error with the loader's words.
const CudaBackend& cuda_backend();

}  // namespace pkb::ref
