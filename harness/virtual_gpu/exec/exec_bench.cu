// SPDX-License-Identifier: Apache-2.0
// Kernels that exec_bench.cpp runs on the virtual GPU.
#include <cstdint>

extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n) {
  constexpr int kTile = 32;
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y;
  const int row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    a_tile[y][x] = a[row * n + k + x];
    b_tile[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += a_tile[y][i] * b_tile[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

extern "C" __global__ void hash(std::uint32_t* values, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t h = values[i];
  for (int r = 0; r < rounds; ++r) {
    h ^= h >> 16;
    h *= 0x85ebca6b;
    h ^= h >> 13;
    h *= 0xc2b2ae35;
    h ^= h >> 16;
    h += r;
  }
  values[i] = h;
}

extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void collatz(std::uint32_t* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint32_t n = values[i], steps = 0;
  while (n != 1) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  values[i] = steps;
}
