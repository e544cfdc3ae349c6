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

// D[i][j] = rounds * 16 * (i % 3) * (j % 5), by mma: one tile of 16 x 8 a warp.
extern "C" __global__ void mma_bf16(float* out, int rounds) {
  const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto pair = [](int value) { return (__float_as_uint(static_cast<float>(value)) >> 16) * 0x10001u; };
  const std::uint32_t low = pair(g % 3), high = pair((g + 8) % 3), column = pair(g % 5);
  float d[4] = {};
  for (int r = 0; r < rounds; ++r)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%6, %6}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(low), "r"(high), "r"(column));
  float* tile = out + (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 128;
  for (int i = 0; i < 4; ++i) tile[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

// The same by wgmma: 64 x 128 a block. All k of a row are the same, so that swizzling, which moves pieces of a row of
// 128 bytes, changes nothing.
extern "C" __global__ void __launch_bounds__(128) wgmma_bf16(float* out, int rounds) {
  __shared__ alignas(1024) std::uint16_t a[64 * 64], b[128 * 64];
  const int thread = threadIdx.x;
  const auto bf16 = [](int value) { return static_cast<std::uint16_t>(__float_as_uint(static_cast<float>(value)) >> 16); };
  for (int i = thread; i < 64 * 64; i += 128) a[i] = bf16(i / 64 % 3);
  for (int i = thread; i < 128 * 64; i += 128) b[i] = bf16(i / 64 % 5);
  __syncthreads();
  const auto descriptor = [](const void* matrix) {  // K-major, 128-byte swizzle
    return 1ull << 62 | 64ull << 32 | static_cast<std::uint64_t>(__cvta_generic_to_shared(matrix)) >> 4;
  };
  const std::uint64_t left = descriptor(a), right = descriptor(b);
  float d[64] = {};
  asm volatile("fence.proxy.async.shared::cta;\nwgmma.fence.sync.aligned;" ::: "memory");
  for (int r = 0; r < rounds; ++r)
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, %64, %65, 1, 1, 1, 0, 0;\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
          "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
          "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
          "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
          "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
          "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
          "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
          "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
          "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
          "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]),
          "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
          "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(left + r % 4 * 2), "l"(right + r % 4 * 2));
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  const int row = thread / 32 * 16 + thread % 32 / 4, column = thread % 4 * 2;
  for (int i = 0; i < 64; ++i) out[(row + i / 2 % 2 * 8) * 128 + i / 4 * 8 + column + i % 2] = d[i];
}
