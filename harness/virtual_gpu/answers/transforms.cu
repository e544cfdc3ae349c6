// SPDX-License-Identifier: Apache-2.0
// Butterflies, filters and other passes whose threads exchange along fixed patterns.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace pkb::virtual_gpu::answers {
namespace {

__device__ float2 times(float2 a, float2 b) {
  return {__fmaf_rn(a.x, b.x, -__fmul_rn(a.y, b.y)), __fmaf_rn(a.x, b.y, __fmul_rn(a.y, b.x))};
}

// Stockham, radix 2, 1024 points a block.
__global__ void fft(const std::uint32_t* in, float2* out) {
  constexpr unsigned kPoints = 1024;
  __shared__ float2 data[2][kPoints];
  const unsigned t = threadIdx.x, base = blockIdx.x * kPoints;
  for (unsigned i = t; i < kPoints; i += kPoints / 2) {
    data[0][i] = {real(in[base + i]), real(in[100000 + base + i])};
  }
  int from = 0;
  for (unsigned half = 1; half < kPoints; half *= 2, from ^= 1) {
    __syncthreads();
    float2 twiddle;
    sincospif(-static_cast<float>(t % half) / static_cast<float>(half), &twiddle.y, &twiddle.x);
    const float2 a = data[from][t], b = times(data[from][t + kPoints / 2], twiddle);
    const unsigned to = t / half * 2 * half + t % half;
    data[from ^ 1][to] = {__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y)};
    data[from ^ 1][to + half] = {__fsub_rn(a.x, b.x), __fsub_rn(a.y, b.y)};
  }
  __syncthreads();
  for (unsigned i = t; i < kPoints; i += kPoints / 2) out[base + i] = data[from][i];
}

// 256 values a warp: 8 in the registers of each lane, then across lanes.
__global__ void hadamard(const std::uint32_t* in, float* out) {
  const unsigned warp = blockIdx.x * blockDim.x / 32 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = real(in[warp * 256 + lane * 8 + i]);
  for (int step = 1; step < 8; step *= 2) {
    for (int i = 0; i < 8; ++i) {
      if ((i & step) != 0) continue;
      const float a = x[i], b = x[i | step];
      x[i] = a + b;
      x[i | step] = a - b;
    }
  }
  for (unsigned step = 1; step < 32; step *= 2) {
    for (float& each : x) {
      const float other = __shfl_xor_sync(0xffffffff, each, step);
      each = (lane & step) == 0 ? each + other : other - each;
    }
  }
  for (int i = 0; i < 8; ++i) out[warp * 256 + lane * 8 + i] = x[i];
}

// Modulo 998244353 = 119 * 2^23 + 1, whose third root of unity generates all.
constexpr std::uint32_t kPrime = 998244353;
__device__ std::uint32_t mul_mod(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(a) * b % kPrime);
}
__device__ std::uint32_t power(std::uint32_t base, std::uint32_t exponent) {
  std::uint32_t result = 1;
  for (; exponent > 0; exponent /= 2, base = mul_mod(base, base)) {
    if (exponent % 2 == 1) result = mul_mod(result, base);
  }
  return result;
}
__global__ void number_transform(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned kPoints = 512;
  __shared__ std::uint32_t data[kPoints];
  const unsigned t = threadIdx.x;
  for (unsigned i = t; i < kPoints; i += kPoints / 2) {
    data[__brev(i) >> 23] = in[blockIdx.x * kPoints + i] % kPrime;
  }
  for (unsigned half = 1; half < kPoints; half *= 2) {
    __syncthreads();
    const unsigned at = t / half * 2 * half + t % half;
    const std::uint32_t root = power(3, (kPrime - 1) / (2 * half) * (t % half));
    const std::uint32_t a = data[at], b = mul_mod(data[at + half], root);
    data[at] = (a + b) % kPrime;
    data[at + half] = (a + kPrime - b) % kPrime;
  }
  __syncthreads();
  for (unsigned i = t; i < kPoints; i += kPoints / 2) out[blockIdx.x * kPoints + i] = data[i];
}

// 8 x 8 cosine transforms, quantised, in the zigzag order of JPEG.
__constant__ unsigned char zigzag[64] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                         12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                         35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                         58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};
__global__ void cosine_transform(const std::uint32_t* in, short* out) {
  __shared__ float tile[4][8][9], half[4][8][9];
  const unsigned x = threadIdx.x, y = threadIdx.y, z = threadIdx.z, block = blockIdx.x * 4 + z;
  tile[z][y][x] = static_cast<float>(in[block * 64 + y * 8 + x] & 255) - 128;
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0; i < 8; ++i) {
    sum = __fmaf_rn(tile[z][y][i], cospif(static_cast<float>((2 * i + 1) * x) / 16), sum);
  }
  half[z][y][x] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned i = 0; i < 8; ++i) {
    sum = __fmaf_rn(half[z][i][x], cospif(static_cast<float>((2 * i + 1) * y) / 16), sum);
  }
  const float scale = (x == 0 ? 0.35355339f : 0.5f) * (y == 0 ? 0.35355339f : 0.5f);
  tile[z][y][x] = static_cast<float>(__float2int_rn(sum * scale / static_cast<float>(8 + x + y)));
  __syncthreads();
  const unsigned from = zigzag[y * 8 + x];
  out[block * 64 + y * 8 + x] = static_cast<short>(tile[z][from / 8][from % 8]);
}

__global__ void rotary(const std::uint32_t* in, float2* out) {
  const unsigned position = blockIdx.x, pair = threadIdx.x;
  const float frequency = exp2_of_negative(-static_cast<float>(pair) * 0.20762050593f);  // 10000^(-pair / 64)
  float sine, cosine;
  sincosf(static_cast<float>(position * 997) * frequency, &sine, &cosine);
  const float2 x = {real(in[position * 128 + 2 * pair]), real(in[position * 128 + 2 * pair + 1])};
  out[position * 64 + pair] = times(x, {cosine, sine});
}

// 3 x 3 with a border of zeros, through a tile with its halo.
__global__ void convolve(const std::uint32_t* in, float* out) {
  constexpr int kSize = 128, kTile = 16;
  __shared__ float tile[kTile + 2][kTile + 2];
  const int x0 = static_cast<int>(blockIdx.x) * kTile - 1, y0 = static_cast<int>(blockIdx.y) * kTile - 1;
  for (int i = static_cast<int>(threadIdx.y * kTile + threadIdx.x); i < (kTile + 2) * (kTile + 2); i += kTile * kTile) {
    const int x = x0 + i % (kTile + 2), y = y0 + i / (kTile + 2);
    const bool inside = x >= 0 && y >= 0 && x < kSize && y < kSize;
    tile[i / (kTile + 2)][i % (kTile + 2)] = inside ? real(in[y * kSize + x]) : 0;
  }
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < 9; ++i) {
    sum = __fmaf_rn(tile[threadIdx.y + i / 3][threadIdx.x + i % 3], real(in[kSize * kSize + i]), sum);
  }
  out[(y0 + 1 + static_cast<int>(threadIdx.y)) * kSize + x0 + 1 + static_cast<int>(threadIdx.x)] = sum;
}

// A column of threads marches through the planes of a volume, with the planes before and behind in registers.
__global__ void stencil(const std::uint32_t* in, double* out) {
  constexpr int kSize = 32;
  __shared__ double plane[kSize][kSize];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const auto at = [&](int z) { return z < kSize ? static_cast<double>(real(in[(z * kSize + y) * kSize + x])) : 0.0; };
  double behind = 0, here = at(0), ahead = at(1);
  for (int z = 0; z < kSize; ++z) {
    plane[y][x] = here;
    __syncthreads();
    const double left = x > 0 ? plane[y][x - 1] : 0, right = x + 1 < kSize ? plane[y][x + 1] : 0;
    const double up = y > 0 ? plane[y - 1][x] : 0, down = y + 1 < kSize ? plane[y + 1][x] : 0;
    const double sum = __dadd_rn(__dadd_rn(left, right), __dadd_rn(__dadd_rn(up, down), __dadd_rn(behind, ahead)));
    out[(z * kSize + y) * kSize + x] = __fma_rn(-6.0, here, sum);
    __syncthreads();
    behind = here;
    here = ahead;
    ahead = at(z + 2);
  }
}

// Rows of 128 to e4m3, with a scale of their own, and back.
__global__ void quantise(const std::uint32_t* in, std::uint32_t* codes, float* scales, __half2* back) {
  const unsigned row = blockIdx.x, lane = threadIdx.x;
  float x[4], most = 0;
  for (int i = 0; i < 4; ++i) {
    x[i] = real(in[row * 128 + lane * 4 + i]);
    most = fmaxf(most, fabsf(x[i]));
  }
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, step));
  const float scale = most / 448;
  const __nv_fp8x4_e4m3 packed(make_float4(x[0] / scale, x[1] / scale, x[2] / scale, x[3] / scale));
  codes[row * 32 + lane] = packed.__x;
  if (lane == 0) scales[row] = scale;
  const float4 again = static_cast<float4>(packed);
  back[row * 64 + lane * 2] = __hmul2(__floats2half2_rn(again.x, again.y), __float2half2_rn(scale));
  back[row * 64 + lane * 2 + 1] = __hmul2(__floats2half2_rn(again.z, again.w), __float2half2_rn(scale));
}

// Horner in pairs of halves, clamped from below by the fused form.
__global__ void half_polynomial(const std::uint32_t* in, __half2* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half2 x = __floats2half2_rn(real(in[i]), real(in[i + 65536]));
  __half2 y = __float2half2_rn(0.25f);
  for (int k = 1; k < 12; ++k) y = __hfma2(y, x, __floats2half2_rn(1.0f / k, -0.5f / k));
  y = __hfma2_relu(y, __hsub2_sat(x, y), __habs2(x));
  out[i] = __hmax2(__hmin2(y, __float2half2_rn(0.75f)), __hneg2(x));
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"transform_fft", 8 * 1024 * 16,
     [](const std::uint32_t* in, void* out) { fft<<<16, 512>>>(in, static_cast<float2*>(out)); }},
    {"transform_hadamard", 4 * 256 * 256,
     [](const std::uint32_t* in, void* out) { hadamard<<<64, 128>>>(in, static_cast<float*>(out)); }},
    {"transform_number_theoretic", 4 * 512 * 16,
     [](const std::uint32_t* in, void* out) { number_transform<<<16, 256>>>(in, static_cast<std::uint32_t*>(out)); }},
    {"transform_cosine", 2 * 64 * 256,
     [](const std::uint32_t* in, void* out) { cosine_transform<<<64, dim3(8, 8, 4)>>>(in, static_cast<short*>(out)); }},
    {"transform_rotary", 8 * 64 * 128,
     [](const std::uint32_t* in, void* out) { rotary<<<128, 64>>>(in, static_cast<float2*>(out)); }},
    {"transform_convolution", 4 * 128 * 128,
     [](const std::uint32_t* in, void* out) {
       convolve<<<dim3(8, 8), dim3(16, 16)>>>(in, static_cast<float*>(out));
     }},
    {"transform_stencil", 8 * 32 * 32 * 32,
     [](const std::uint32_t* in, void* out) { stencil<<<1, dim3(32, 32)>>>(in, static_cast<double*>(out)); }},
    {"transform_float8", 256 * (128 + 8 + 256),
     [](const std::uint32_t* in, void* out) {
       auto* const codes = static_cast<std::uint32_t*>(out);
       auto* const scales = reinterpret_cast<float*>(codes + 256 * 32);
       quantise<<<256, 32>>>(in, codes, scales, reinterpret_cast<__half2*>(scales + 512));
     }},
    {"transform_half_polynomial", 4 * 32768, [](const std::uint32_t* in, void* out) {
       half_polynomial<<<128, 256>>>(in, static_cast<__half2*>(out));
     }})
