// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>

/// Matrix products on host memory, for the cuBLAS of the virtual GPU. The sums are OpenBLAS's, which is loaded when
/// the first product is asked for.
namespace pkb::virtual_gpu::blas {

/// Elements anywhere in memory: element (i, j) is `i * row_stride + j * column_stride` elements behind the first.
struct Matrix {
  std::byte* data = nullptr;
  cudaDataType type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0;
  std::int64_t row_stride = 1, column_stride = 0;

  /// Bytes from the first element to the last one's end.
  std::size_t span() const;
  Matrix transposed() const { return {data, type, columns, rows, column_stride, row_stride}; }
};

/// Bytes of an element; 0 for types that are not supported.
std::size_t size_of(cudaDataType type);

enum class Precision : std::uint8_t { f32, f64, i32 };
enum class Activation : std::uint8_t { none, relu, gelu };

/// d = activation(alpha * a b + beta * c + bias), every element computed in `precision` and rounded once.
struct Product {
  Matrix a, b, c, d;
  double alpha = 1, beta = 0;  ///< c is not read if beta is 0
  Precision precision = Precision::f32;
  Matrix bias = {};  ///< a column that is added to each of d's, if there is data
  Activation activation = Activation::none;
  double scale_d = 1;  ///< of the result before it is rounded, as 8-bit floats have it
};

/// Whether OpenBLAS is there.
bool is_available();
/// Only when it is.
void multiply(const Product& product);

// Elements as numbers, for what is no product.
double load(const std::byte* from, cudaDataType type);
void store(std::byte* to, cudaDataType type, double value);

}  // namespace pkb::virtual_gpu::blas
