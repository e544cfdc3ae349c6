// SPDX-License-Identifier: Apache-2.0
// Launchers of the kernels in conformance_matrix_kernels.cu, which is compiled as candidates are.
#pragma once

#include <cuda_runtime_api.h>

extern "C" {

/// How a matrix of bf16 lies in shared memory: rows of `swizzle` bytes (16: not swizzled), along k or across it.
struct MatrixLayout {
  int swizzle;
  bool across;
};

/// c = a * b through wgmma: a is (64, 64), b is given by columns, c is fp32. `a_in_registers`: A does not go through
/// shared memory. False where there is no such kernel.
bool wgmma_bf16(const void* a, const void* b, float* c, MatrixLayout a_layout, MatrixLayout b_layout,
                bool a_in_registers);
/// The same for types of 8 and 32 bits, (64, 128 / size) times (128 / size, 64), with a swizzle of 128 bytes.
void wgmma_s8(const void* a, const void* b, int* c);
void wgmma_u8(const void* a, const void* b, int* c);
void wgmma_e4m3(const void* a, const void* b, float* c);
void wgmma_e5m2(const void* a, const void* b, float* c);
void wgmma_tf32(const void* a, const void* b, float* c);

/// c = a * b through ldmatrix and mma.sync: (64, 64) times (64, 64), bf16, b by rows (loaded transposed).
void mma_bf16(const void* a, const void* b, float* c);
/// One mma.sync of 32 bytes of k: (16, k) times (k, 8), b by columns.
void mma_s8(const void* a, const void* b, int* c);
void mma_s4(const void* a, const void* b, int* c);
void mma_e4m3(const void* a, const void* b, float* c);
void mma_tf32(const void* a, const void* b, float* c);
/// (16, 8) times (8, 8) doubles.
void mma_f64(const double* a, const double* b, double* c);

/// nvcuda::wmma: (16, 16) times (16, 16), all by rows.
void wmma_s8(const signed char* a, const signed char* b, int* c);
void wmma_f16(const void* a, const void* b, void* c);
/// (16, 8) times (8, 16), b by columns.
void wmma_tf32(const float* a, const float* b, float* c);
/// (8, 4) times (4, 8), b by columns.
void wmma_f64(const double* a, const double* b, double* c);

/// For each f32 x of n: the codes that x converts to, e4m3 then e5m2, and the f16 bits these convert back to.
void convert_float8(const float* in, unsigned char* codes, unsigned short* back, int n);
}
