// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/blas/product.h"

#include <cblas.h>
#include <cuda_fp8.h>
#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>
#include <vector>

#include "harness/virtual_gpu/exec/half_type.h"

namespace pkb::virtual_gpu::blas {
namespace {

struct OpenBlas {
  decltype(&cblas_sgemm) sgemm = nullptr;
  decltype(&cblas_dgemm) dgemm = nullptr;

  static const OpenBlas& instance() {
    static const OpenBlas loaded;
    return loaded;
  }

 private:
  OpenBlas() {
    void* const library = dlopen(PKB_OPENBLAS_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    // The ranks share the cores already.
    if (const auto set_threads = reinterpret_cast<void (*)(int)>(dlsym(library, "openblas_set_num_threads"))) {
      set_threads(1);
    }
    sgemm = reinterpret_cast<decltype(sgemm)>(dlsym(library, "cblas_sgemm"));
    dgemm = reinterpret_cast<decltype(dgemm)>(dlsym(library, "cblas_dgemm"));
  }
};

void multiply_columns(const float* a, const float* b, float* c, blasint m, blasint n, blasint k) {
  OpenBlas::instance().sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, m, b, k, 0, c, m);
}
void multiply_columns(const double* a, const double* b, double* c, blasint m, blasint n, blasint k) {
  OpenBlas::instance().dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, m, b, k, 0, c, m);
}
// Sums wrap, as the hardware's do.
void multiply_columns(const std::int32_t* a, const std::int32_t* b, std::int32_t* c, blasint m, blasint n,
                      blasint k) {
  for (blasint j = 0; j < n; ++j) {
    for (blasint p = 0; p < k; ++p) {
      for (blasint i = 0; i < m; ++i) {
        auto& sum = reinterpret_cast<std::uint32_t&>(c[i + std::int64_t{j} * m]);
        sum += static_cast<std::uint32_t>(a[i + std::int64_t{p} * m]) *
               static_cast<std::uint32_t>(b[p + std::int64_t{j} * k]);
      }
    }
  }
}

/// How elements of a type become numbers and numbers become elements.
template <class T>
struct Plain {
  using Stored = T;
  static T load(T value) { return value; }
  template <class Number>
  static T store(Number value) {
    return static_cast<T>(value);
  }
};
template <class H>
struct Small {
  using Stored = std::uint16_t;
  static float load(std::uint16_t bits) { return to_float(H{bits}); }
  static std::uint16_t store(double value) {
    return round_to(value, std::is_same_v<H, Half> ? kHalfFormat : kBrainFormat, Rounding::nearest);
  }
};
template <class F8>
struct Tiny {
  using Stored = std::uint8_t;
  static float load(std::uint8_t bits) {
    F8 value;
    value.__x = bits;
    return static_cast<float>(value);
  }
  static std::uint8_t store(double value) { return F8(static_cast<float>(value)).__x; }
};
/// To an integer: to nearest even, and within its range.
template <class T>
struct Whole : Plain<T> {
  template <class Number>
  static T store(Number value) {
    if constexpr (std::is_integral_v<Number>) {
      return static_cast<T>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      return static_cast<T>(std::clamp<double>(std::nearbyint(static_cast<double>(value)),
                                               std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
};

/// Calls body(codec) for a type that size_of knows.
template <class Body>
void with_codec(cudaDataType type, Body&& body) {
  switch (static_cast<int>(type)) {
    case CUDA_R_32F: return body(Plain<float>{});
    case CUDA_R_64F: return body(Plain<double>{});
    case CUDA_R_16F: return body(Small<Half>{});
    case CUDA_R_16BF: return body(Small<Brain>{});
    case CUDA_R_8F_E4M3: return body(Tiny<__nv_fp8_e4m3>{});
    case CUDA_R_8F_E5M2: return body(Tiny<__nv_fp8_e5m2>{});
    case CUDA_R_8I: return body(Whole<std::int8_t>{});
    case CUDA_R_32I: return body(Whole<std::int32_t>{});
    default: return;
  }
}

/// The matrix as contiguous columns of numbers.
template <class Number>
std::vector<Number> read(const Matrix& matrix) {
  std::vector<Number> columns(static_cast<std::size_t>(matrix.rows * matrix.columns));
  with_codec(matrix.type, [&]<class Codec>(Codec) {
    const auto* const from = reinterpret_cast<const typename Codec::Stored*>(matrix.data);
    Number* to = columns.data();
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      const auto* element = from + j * matrix.column_stride;
      for (std::int64_t i = 0; i < matrix.rows; ++i, element += matrix.row_stride) {
        *to++ = static_cast<Number>(Codec::load(*element));
      }
    }
  });
  return columns;
}

// The tanh form, which cuBLASLt documents.
template <class Number>
Number gelu(Number x) {
  const double cubed = static_cast<double>(x) * x * x;
  const double inner = std::sqrt(2 / std::numbers::pi) * (static_cast<double>(x) + 0.044715 * cubed);
  return static_cast<Number>(0.5 * static_cast<double>(x) * (1 + std::tanh(inner)));
}

template <class Number>
Number activate(Number x, Activation activation) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x < Number{0} ? Number{0} : x;
    case Activation::gelu: return gelu(x);
  }
  return x;
}

template <class Number>
void multiply_in(const Product& p) {
  const std::int64_t m = p.d.rows, n = p.d.columns, k = p.a.columns;
  std::vector<Number> result(static_cast<std::size_t>(m * n));
  if (k > 0 && p.alpha != 0) {
    multiply_columns(read<Number>(p.a).data(), read<Number>(p.b).data(), result.data(), static_cast<blasint>(m),
                     static_cast<blasint>(n), static_cast<blasint>(k));
  }
  const auto alpha = static_cast<Number>(p.alpha), beta = static_cast<Number>(p.beta);
  std::vector<Number> c;
  if (beta != Number{0}) c = read<Number>(p.c);
  std::vector<Number> bias;
  if (p.bias.data != nullptr) bias = read<Number>(p.bias);
  for (std::size_t at = 0; at < result.size(); ++at) {
    Number value = alpha * result[at];
    if (!c.empty()) value += beta * c[at];
    if (!bias.empty()) value += bias[at % static_cast<std::size_t>(m)];
    result[at] = static_cast<Number>(activate(value, p.activation) * static_cast<Number>(p.scale_d));
  }
  with_codec(p.d.type, [&]<class Codec>(Codec) {
    auto* const to = reinterpret_cast<typename Codec::Stored*>(p.d.data);
    const Number* from = result.data();
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < m; ++i) {
        to[i * p.d.row_stride + j * p.d.column_stride] = Codec::store(*from++);
      }
    }
  });
}

}  // namespace

std::size_t size_of(cudaDataType type) {
  std::size_t bytes = 0;
  with_codec(type, [&]<class Codec>(Codec) { bytes = sizeof(typename Codec::Stored); });
  return bytes;
}

std::size_t Matrix::span() const {
  if (rows == 0 || columns == 0) return 0;
  return static_cast<std::size_t>((rows - 1) * row_stride + (columns - 1) * column_stride + 1) * size_of(type);
}

bool is_available() { return OpenBlas::instance().sgemm != nullptr && OpenBlas::instance().dgemm != nullptr; }

void multiply(const Product& product) {
  switch (product.precision) {
    case Precision::f32: return multiply_in<float>(product);
    case Precision::f64: return multiply_in<double>(product);
    case Precision::i32: return multiply_in<std::int32_t>(product);
  }
}

double load(const std::byte* from, cudaDataType type) {
  double value = 0;
  with_codec(type, [&]<class Codec>(Codec) {
    typename Codec::Stored stored;
    std::memcpy(&stored, from, sizeof stored);
    value = static_cast<double>(Codec::load(stored));
  });
  return value;
}

void store(std::byte* to, cudaDataType type, double value) {
  with_codec(type, [&]<class Codec>(Codec) {
    const typename Codec::Stored stored = Codec::store(value);
    std::memcpy(to, &stored, sizeof stored);
  });
}

}  // namespace pkb::virtual_gpu::blas
