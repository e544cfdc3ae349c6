// SPDX-License-Identifier: Apache-2.0
#include "harness/virtual_gpu/runtime/conformance_matrix_kernels.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <mma.h>

#include <cstdint>

namespace {

constexpr int kLines = 64, kDepth = 64;  // of a matrix of bf16 in shared memory: rows of A, columns of B

struct Descriptor {
  unsigned start, leading, stride;
};

/// A compact matrix in shared memory, as the tensor memory accelerator leaves it or, without swizzle, in core matrices
/// of 8 rows of 16 bytes.
template <int swizzle, bool across>
struct Tile {
  static constexpr unsigned kElements = swizzle / 2;  // in a row
  static constexpr unsigned kMode = swizzle == 128 ? 1 : swizzle == 64 ? 2 : swizzle == 32 ? 3 : 0;

  __device__ static unsigned offset(unsigned line, unsigned k) {
    const unsigned along = across ? line : k, other = across ? k : line;
    const unsigned at = along / kElements * 64 * swizzle + other * swizzle + along % kElements * 2;
    return at ^ (at >> 7 & (swizzle / 16 - 1)) << 4;
  }
  /// Of the elements from k on.
  __device__ static std::uint64_t descriptor(unsigned base, unsigned k) {
    Descriptor d;
    if (across) {
      d = {k * swizzle, 64 * swizzle, 8 * swizzle};
      if (swizzle == 16) d = {k * 16, 128, 64 * 16};  // the distances change roles
    } else {
      d = {k / kElements * 64 * swizzle + k % kElements * 2, 64 * swizzle, 8 * swizzle};
    }
    return static_cast<std::uint64_t>(kMode) << 62 | static_cast<std::uint64_t>(d.stride >> 4) << 32 |
           static_cast<std::uint64_t>(d.leading >> 4) << 16 | (base + d.start) >> 4;
  }
};

__device__ void begin() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ void finish() {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define SUMS                                                                                                      \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31}"
#define FOUR(c, d, i) c(d[i]), c(d[i + 1]), c(d[i + 2]), c(d[i + 3])
#define ALL(c, d)                                                                                       \
  FOUR(c, d, 0), FOUR(c, d, 4), FOUR(c, d, 8), FOUR(c, d, 12), FOUR(c, d, 16), FOUR(c, d, 20), FOUR(c, d, 24), \
      FOUR(c, d, 28)

template <bool a_across, bool b_across>
__device__ void multiply(float (&d)[32], std::uint64_t a, std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " SUMS ", %32, %33, 1, 1, 1, %34, %35;"
               : ALL("+f", d)
               : "l"(a), "l"(b), "n"(a_across), "n"(b_across));
}
template <bool b_across>
__device__ void multiply(float (&d)[32], const unsigned (&a)[4], std::uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " SUMS
               ", {%32, %33, %34, %35}, %36, 1, 1, 1, %37;"
               : ALL("+f", d)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "n"(b_across));
}

template <class T>
__device__ void store(const T (&d)[32], T* c) {
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 32; ++i) c[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = d[i];
}

template <int a_swizzle, bool a_across, int b_swizzle, bool b_across, bool in_registers>
__global__ void __launch_bounds__(128)
    wgmma_bf16_kernel(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  using A = Tile<a_swizzle, a_across>;
  using B = Tile<b_swizzle, b_across>;
  __shared__ alignas(1024) unsigned char left[kLines * kDepth * 2], right[kLines * kDepth * 2];
  for (int i = threadIdx.x; i < kLines * kDepth; i += 128) {
    *reinterpret_cast<std::uint16_t*>(left + A::offset(i / kDepth, i % kDepth)) = a[i];
    *reinterpret_cast<std::uint16_t*>(right + B::offset(i / kDepth, i % kDepth)) = b[i];
  }
  float d[32] = {};
  begin();
  for (unsigned k = 0; k < kDepth; k += 16) {
    const std::uint64_t of_b = B::descriptor(static_cast<unsigned>(__cvta_generic_to_shared(right)), k);
    if constexpr (in_registers) {
      const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
      unsigned fragment[4];
      for (int i = 0; i < 4; ++i)
        fragment[i] =
            *reinterpret_cast<const unsigned*>(a + (row + i % 2 * 8) * kDepth + k + i / 2 * 8 + column);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      multiply<b_across>(d, fragment, of_b);
      finish();
    } else {
      multiply<a_across, b_across>(
          d, A::descriptor(static_cast<unsigned>(__cvta_generic_to_shared(left)), k), of_b);
    }
  }
  finish();
  store(d, c);
}

template <int a_swizzle, bool a_across, int b_swizzle, bool b_across>
bool launch(const void* a, const void* b, float* c, bool in_registers) {
  const auto *x = static_cast<const std::uint16_t*>(a), *y = static_cast<const std::uint16_t*>(b);
  if (in_registers)
    wgmma_bf16_kernel<a_swizzle, a_across, b_swizzle, b_across, true><<<1, 128>>>(x, y, c);
  else
    wgmma_bf16_kernel<a_swizzle, a_across, b_swizzle, b_across, false><<<1, 128>>>(x, y, c);
  return true;
}
template <int a_swizzle, bool a_across>
bool launch(const void* a, const void* b, float* c, MatrixLayout layout, bool in_registers) {
  if (layout.swizzle == a_swizzle)
    return layout.across ? launch<a_swizzle, a_across, a_swizzle, true>(a, b, c, in_registers)
                         : launch<a_swizzle, a_across, a_swizzle, false>(a, b, c, in_registers);
  if (layout.swizzle == 128)
    return layout.across ? launch<a_swizzle, a_across, 128, true>(a, b, c, in_registers)
                         : launch<a_swizzle, a_across, 128, false>(a, b, c, in_registers);
  return false;
}

/// Lines of 128 bytes, swizzled, in four steps of 32 bytes.
#define WGMMA_BYTES(name, T, constraint, types, scales)                                                       \
  __global__ void __launch_bounds__(128) name##_kernel(const uint4* a, const uint4* b, T* c) {                \
    __shared__ alignas(1024) uint4 left[64 * 8], right[64 * 8];                                               \
    for (int i = threadIdx.x; i < 64 * 8; i += 128) {                                                         \
      left[i ^ (i >> 3 & 7)] = a[i];                                                                          \
      right[i ^ (i >> 3 & 7)] = b[i];                                                                         \
    }                                                                                                         \
    T d[32] = {};                                                                                             \
    const std::uint64_t mode = 1ull << 62 | 64ull << 32;                                                      \
    const std::uint64_t of_a = mode | __cvta_generic_to_shared(left) >> 4,                                    \
                        of_b = mode | __cvta_generic_to_shared(right) >> 4;                                   \
    begin();                                                                                                  \
    for (int step = 0; step < 4; ++step)                                                                      \
      asm volatile("wgmma.mma_async.sync.aligned.m64n64" types " " SUMS ", %32, %33, 1" scales ";"            \
                   : ALL(constraint, d)                                                                       \
                   : "l"(of_a + 2 * step), "l"(of_b + 2 * step));                                             \
    finish();                                                                                                 \
    store(d, c);                                                                                              \
  }
WGMMA_BYTES(wgmma_s8, int, "+r", "k32.s32.s8.s8", "")
WGMMA_BYTES(wgmma_u8, int, "+r", "k32.s32.u8.u8", "")
WGMMA_BYTES(wgmma_e4m3, float, "+f", "k32.f32.e4m3.e4m3", ", 1, 1")
WGMMA_BYTES(wgmma_e5m2, float, "+f", "k32.f32.e5m2.e5m2", ", 1, 1")
WGMMA_BYTES(wgmma_tf32, float, "+f", "k8.f32.tf32.tf32", ", 1, 1")

__global__ void mma_bf16_kernel(const std::uint16_t* a, const std::uint16_t* b, float* c) {
  constexpr int kRow = 72;  // elements; 16 bytes more than needed spread the banks
  __shared__ alignas(16) std::uint16_t left[64 * kRow], right[64 * kRow];
  for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x) {
    left[i / 64 * kRow + i % 64] = a[i];
    right[i / 64 * kRow + i % 64] = b[i];
  }
  __syncthreads();
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const auto address = [](const std::uint16_t* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); };
  for (int column = 0; column < 64; column += 8) {
    float d[4] = {};
    for (int k = 0; k < 64; k += 16) {
      unsigned x[4], y[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                   : "r"(address(left + (16 * warp + lane % 16) * kRow + k + lane / 16 * 8)));
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(y[0]), "=r"(y[1])
                   : "r"(address(right + (k + lane % 16) * kRow + column)));
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
          "{%0, %1, %2, %3};"
          : FOUR("+f", d, 0)
          : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    }
    for (int i = 0; i < 4; ++i) c[(16 * warp + lane / 4 + i / 2 * 8) * 64 + column + lane % 4 * 2 + i % 2] = d[i];
  }
}

/// Rows of A and columns of B are 8 words.
#define MMA_WORDS(name, T, constraint, types)                                                                        \
  __global__ void name##_kernel(const unsigned* a, const unsigned* b, T* c) {                                        \
    const int g = threadIdx.x / 4, t = threadIdx.x % 4;                                                              \
    T d[4] = {};                                                                                                     \
    asm volatile("mma.sync.aligned.m16n8" types " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"   \
                 : FOUR(constraint, d, 0)                                                                            \
                 : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]),   \
                   "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));                                                        \
    for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];                                       \
  }
MMA_WORDS(mma_s8, int, "+r", "k32.row.col.s32.s8.s8.s32")
MMA_WORDS(mma_s4, int, "+r", "k64.row.col.s32.s4.s4.s32")
MMA_WORDS(mma_e4m3, float, "+f", "k32.row.col.f32.e4m3.e4m3.f32")
MMA_WORDS(mma_tf32, float, "+f", "k8.row.col.f32.tf32.tf32.f32")

__global__ void mma_f64_kernel(const double* a, const double* b, double* c) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  double d[4] = {};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
               "{%0, %1, %2, %3};"
               : FOUR("+d", d, 0)
               : "d"(a[g * 8 + t]), "d"(a[(g + 8) * 8 + t]), "d"(a[g * 8 + t + 4]), "d"(a[(g + 8) * 8 + t + 4]),
                 "d"(b[t * 8 + g]), "d"(b[(t + 4) * 8 + g]));
  for (int i = 0; i < 4; ++i) c[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

template <int m, int n, int k, class Type, class T, class Sum, class Order>
__global__ void wmma_kernel(const T* a, const T* b, Sum* c, int lda, int ldb, int ldc) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, m, n, k, Type, row_major> left;
  fragment<matrix_b, m, n, k, Type, Order> right;
  fragment<accumulator, m, n, k, Sum> sum;
  load_matrix_sync(left, a, lda);
  load_matrix_sync(right, b, ldb);
  fill_fragment(sum, Sum(1));
  mma_sync(sum, left, right, sum);
  store_matrix_sync(c, sum, ldc, mem_row_major);
}

__global__ void convert_float8_kernel(const float* in, unsigned char* codes, unsigned short* back, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const auto e4m3 = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3),
             e5m2 = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
  codes[2 * i] = e4m3, codes[2 * i + 1] = e5m2;
  back[2 * i] = __nv_cvt_fp8_to_halfraw(e4m3, __NV_E4M3).x;
  back[2 * i + 1] = __nv_cvt_fp8_to_halfraw(e5m2, __NV_E5M2).x;
}

}  // namespace

extern "C" {

bool wgmma_bf16(const void* a, const void* b, float* c, MatrixLayout a_layout, MatrixLayout b_layout,
                bool in_registers) {
  const auto with = [&]<int swizzle>() {
    return a_layout.across ? launch<swizzle, true>(a, b, c, b_layout, in_registers)
                           : launch<swizzle, false>(a, b, c, b_layout, in_registers);
  };
  switch (a_layout.swizzle) {
    case 16:
      return with.template operator()<16>();
    case 32:
      return with.template operator()<32>();
    case 64:
      return with.template operator()<64>();
    case 128:
      return with.template operator()<128>();
    default:
      return false;
  }
}

#define LAUNCH_BYTES(name, T)                                                                    \
  void name(const void* a, const void* b, T* c) {                                                \
    name##_kernel<<<1, 128>>>(static_cast<const uint4*>(a), static_cast<const uint4*>(b), c);    \
  }
LAUNCH_BYTES(wgmma_s8, int)
LAUNCH_BYTES(wgmma_u8, int)
LAUNCH_BYTES(wgmma_e4m3, float)
LAUNCH_BYTES(wgmma_e5m2, float)
LAUNCH_BYTES(wgmma_tf32, float)

#define LAUNCH_WORDS(name, T)                                                                          \
  void name(const void* a, const void* b, T* c) {                                                      \
    name##_kernel<<<1, 32>>>(static_cast<const unsigned*>(a), static_cast<const unsigned*>(b), c);     \
  }
LAUNCH_WORDS(mma_s8, int)
LAUNCH_WORDS(mma_s4, int)
LAUNCH_WORDS(mma_e4m3, float)
LAUNCH_WORDS(mma_tf32, float)

void mma_bf16(const void* a, const void* b, float* c) {
  mma_bf16_kernel<<<1, 128>>>(static_cast<const std::uint16_t*>(a), static_cast<const std::uint16_t*>(b), c);
}
void mma_f64(const double* a, const double* b, double* c) { mma_f64_kernel<<<1, 32>>>(a, b, c); }

void wmma_s8(const signed char* a, const signed char* b, int* c) {
  wmma_kernel<16, 16, 16, signed char, signed char, int, nvcuda::wmma::row_major><<<1, 32>>>(a, b, c, 16, 16, 16);
}
void wmma_f16(const void* a, const void* b, void* c) {
  wmma_kernel<16, 16, 16, __half, __half, __half, nvcuda::wmma::row_major><<<1, 32>>>(
      static_cast<const __half*>(a), static_cast<const __half*>(b), static_cast<__half*>(c), 16, 16, 16);
}
void wmma_tf32(const float* a, const float* b, float* c) {
  wmma_kernel<16, 16, 8, nvcuda::wmma::precision::tf32, float, float, nvcuda::wmma::col_major><<<1, 32>>>(a, b, c, 8, 8, 16);
}
void wmma_f64(const double* a, const double* b, double* c) {
  wmma_kernel<8, 8, 4, double, double, double, nvcuda::wmma::col_major><<<1, 32>>>(a, b, c, 4, 4, 8);
}

void convert_float8(const float* in, unsigned char* codes, unsigned short* back, int n) {
  convert_float8_kernel<<<(n + 127) / 128, 128>>>(in, codes, back, n);
}
}
