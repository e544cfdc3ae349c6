// SPDX-License-Identifier: Apache-2.0
// What kernels.ptx and the fat binaries beside it were made from, by nvcc 13.0:
//   nvcc -ptx -std=c++20 -O3 -arch=compute_90a kernels.cu
//   nvcc -fatbin -DSMALL -std=c++20 -gencode arch=compute_90a,code=compute_90a --compress-mode=none|speed|balance kernels.cu
#ifdef SMALL
__global__ void scale(float* x, float a) { x[threadIdx.x] *= a; }
#else
#include <cuda_bf16.h>
#include <mma.h>

#include <cstdio>

__constant__ float coefficients[5] = {1.f, 2.f, 3.5f};
__device__ const char* messages[] = {"a", "bc"};
struct __attribute__((packed)) Packed {
  char c;
  const char* s;
};
__device__ Packed packed = {'x', "str"};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ __noinline__ int twice(int n) { return 2 * n; }
using Unary = int (*)(int);
__device__ Unary table[2] = {fibonacci, twice};

__global__ void calls(int* p) {
  p[0] = fibonacci(p[1]);
  p[2] = table[p[3] & 1](p[4]);
  printf("%d %s\n", p[2], messages[p[5]]);
}

__global__ void loops(int* p, int n) {
  for (int i = 0; i < n; ++i) {
    for (int j = i; j < n; ++j) {
      if (p[j] == 7) goto out;
      if (p[j] == 8) break;
      if (p[j] == 9) continue;
      p[j] += p[i];
    }
    while (p[i] < 3) {
      p[i]++;
      if (p[i + 1]) return;
    }
  }
out:
  p[0] = 1;
}

__global__ void cases(int* p) {
  switch (p[threadIdx.x]) {
    case 0: p[1] = p[2] * 3; break;
    case 1: p[2] = p[7] / p[3]; break;
    case 2: p[3] ^= p[1];
    case 3: p[4] %= p[2]; break;
    case 4: p[9] = __popc(p[3]); break;
    case 5: p[5] = __clz(p[6]); break;
    case 6: p[0] = __brev(p[4]); break;
    default: p[11] = 0;
  }
}

__global__ void __launch_bounds__(128, 2) __cluster_dims__(2, 1, 1) spin(int* flags, __nv_bfloat162* h) {
  extern __shared__ double dynamic[];
  int seen;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    asm volatile("{ .reg .pred w; W: ld.acquire.sys.global.b32 %0, [%1]; setp.eq.s32 w, %0, 0; @w bra W; }"
                 : "=r"(seen) : "l"(flags + i) : "memory");
    dynamic[i] = seen * coefficients[i] + packed.c;
  }
  asm volatile("{ .reg .pred q; shfl.sync.bfly.b32 %0|q, %0, 1, 31, -1; @q add.s32 %0, %0, 1; }" : "+r"(seen));
  __syncthreads();
  h[0] = __hfma2(h[1], h[2], __hadd2(h[3], h[4]));
  flags[4] = seen + int(dynamic[threadIdx.x]);
}

__global__ void wmma(const __half* a, const __half* b, float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
  fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
  fragment<accumulator, 16, 16, 16, float> fc;
  fill_fragment(fc, 0.f);
  for (int i = 0; i < 2; ++i) {
    load_matrix_sync(fa, a + i * 16, 64);
    load_matrix_sync(fb, b + i * 16, 64);
    mma_sync(fc, fa, fb, fc);
  }
  store_matrix_sync(c, fc, 16, mem_row_major);
}
#endif
