// SPDX-License-Identifier: Apache-2.0
// Products of matrices and solvers: by threads, by warps' tensor cores, split and quantised.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace pkb::virtual_gpu::answers {
namespace {

// 64 x 64 of the result a block, 4 x 4 a thread, the next slices loaded while this one is multiplied.
__global__ void tiled(const std::uint32_t* in, float* out) {
  constexpr int kSize = 128, kTile = 64, kDepth = 8;
  __shared__ float a[2][kDepth][kTile], b[2][kDepth][kTile];
  const std::uint32_t *const left = in + blockIdx.y * kTile * kSize, *const right = in + 65536 + blockIdx.x * kTile;
  const int t = static_cast<int>(threadIdx.x), row = t / 16 * 4, column = t % 16 * 4;
  const auto load = [&](int stage, int k) {
    for (int i = t; i < kDepth * kTile; i += 256) {
      a[stage][i % kDepth][i / kDepth] = real(left[i / kDepth * kSize + k + i % kDepth]);
      b[stage][i / kTile][i % kTile] = real(right[(k + i / kTile) * kSize + i % kTile]);
    }
  };
  float c[4][4] = {};
  load(0, 0);
  for (int k = 0; k < kSize; k += kDepth) {
    const int stage = k / kDepth % 2;
    __syncthreads();
    if (k + kDepth < kSize) load(stage ^ 1, k + kDepth);
    for (int d = 0; d < kDepth; ++d) {
      const float4 x = *reinterpret_cast<const float4*>(&a[stage][d][row]);
      const float4 y = *reinterpret_cast<const float4*>(&b[stage][d][column]);
      const float xs[] = {x.x, x.y, x.z, x.w}, ys[] = {y.x, y.y, y.z, y.w};
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) c[i][j] = __fmaf_rn(xs[i], ys[j], c[i][j]);
      }
    }
  }
  for (int i = 0; i < 4; ++i) {
    float* const to = out + (blockIdx.y * kTile + row + i) * kSize + blockIdx.x * kTile + column;
    *reinterpret_cast<float4*>(to) = make_float4(c[i][0], c[i][1], c[i][2], c[i][3]);
  }
}

template <class T>
__global__ void small_integers(const std::uint32_t* in, T* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = static_cast<T>(static_cast<float>(small(in[i])));
}

// Three stages of cp.async, ldmatrix with a swizzle, mma: (64, 256) times (64, 256) transposed, a warp 16 rows.
__global__ void staged(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out) {
  constexpr int kDepth = 256, kSlice = 32, kStages = 3, kSlices = kDepth / kSlice;
  __shared__ alignas(128) __nv_bfloat16 left[kStages][64 * kSlice], right[kStages][64 * kSlice];
  const int t = static_cast<int>(threadIdx.x), lane = t % 32, warp = t / 32;
  // Rows of 4 pieces of 16 bytes; which piece is where depends on the row.
  const auto place = [](int row, int piece) { return row * kSlice + (piece ^ (row / 2 % 4)) * 8; };
  const auto load = [&](int slice) {
    for (int i = t; i < 64 * 4; i += 128) {
      const int row = i / 4, piece = i % 4, from = row * kDepth + slice * kSlice + piece * 8, stage = slice % kStages;
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&left[stage][place(row, piece)])),
                   "l"(a + from)
                   : "memory");
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&right[stage][place(row, piece)])),
                   "l"(b + from)
                   : "memory");
    }
  };
  const auto commit = [] { asm volatile("cp.async.commit_group;" ::: "memory"); };
  float c[8][4] = {};
  for (int slice = 0; slice < kStages - 1; ++slice) {
    load(slice);
    commit();
  }
  for (int slice = 0; slice < kSlices; ++slice) {
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncthreads();
    if (slice + kStages - 1 < kSlices) load(slice + kStages - 1);
    commit();
    const auto *const x = left[slice % kStages], *const y = right[slice % kStages];
    for (int k = 0; k < kSlice / 16; ++k) {
      unsigned fa[4];
      asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                   : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                   : "r"(shared_address(x + place(warp * 16 + lane % 16, k * 2 + lane / 16))));
      for (int n = 0; n < 8; ++n) {
        unsigned fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(shared_address(y + place(n * 8 + lane % 8, k * 2 + lane / 8 % 2))));
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(c[n][0]), "+f"(c[n][1]), "+f"(c[n][2]), "+f"(c[n][3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
      }
    }
  }
  for (int n = 0; n < 8; ++n) {
    for (int i = 0; i < 4; ++i) {
      out[(warp * 16 + lane / 4 + i / 2 * 8) * 64 + n * 8 + lane % 4 * 2 + i % 2] = c[n][i];
    }
  }
}

// (16, 32 k) times (32 k, 8) of bytes, a warp a tile.
__global__ void bytes(const unsigned* a, const unsigned* b, int* out) {
  const unsigned lane = threadIdx.x, tile = blockIdx.x;
  int c[4] = {};
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned *const x = a + (tile * 4 + k) * 128, *const y = b + k * 64;  // rows of 8 words
    const unsigned row = lane / 4, word = lane % 4;
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(x[row * 8 + word]), "r"(x[(row + 8) * 8 + word]), "r"(x[row * 8 + word + 4]),
          "r"(x[(row + 8) * 8 + word + 4]), "r"(y[row * 8 + word]), "r"(y[row * 8 + word + 4]));
  }
  for (unsigned i = 0; i < 4; ++i) out[tile * 128 + (lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}

__global__ void by_wmma(const __half* a, const __half* b, float* out) {
  using namespace nvcuda::wmma;
  const unsigned row = blockIdx.y * 16, column = blockIdx.x * 16;
  fragment<accumulator, 16, 16, 16, float> c;
  fill_fragment(c, 1.0f);
  for (unsigned k = 0; k < 128; k += 16) {
    fragment<matrix_a, 16, 16, 16, __half, row_major> x;
    fragment<matrix_b, 16, 16, 16, __half, col_major> y;
    load_matrix_sync(x, a + row * 128 + k, 128);
    load_matrix_sync(y, b + column * 128 + k, 128);
    mma_sync(c, x, y, c);
  }
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = fmaxf(c.x[i], 0);
  store_matrix_sync(out + row * 64 + column, c, 64, mem_row_major);
}

__global__ void doubles(const std::uint32_t* in, double* out) {
  const unsigned lane = threadIdx.x;
  double c[2] = {};
  for (unsigned k = 0; k < 64; k += 4) {
    const double a = real(in[blockIdx.x * 512 + lane / 4 * 64 + k + lane % 4]);
    const double b = real(in[65536 + lane / 4 * 64 + k + lane % 4]);
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
  }
  for (unsigned i = 0; i < 2; ++i) out[blockIdx.x * 64 + lane / 4 * 8 + lane % 4 * 2 + i] = c[i];
}

// Weights of 4 bits times halves: a word gives eight halves by or-ing the bits into 1024.
__global__ void four_bits(const std::uint32_t* in, float* out) {
  const unsigned row = blockIdx.x, lane = threadIdx.x;
  float sum = 0;
  for (unsigned word = lane; word < 128; word += 32) {
    const std::uint32_t q = in[row * 128 + word];
    __half2 partial = __float2half2_rn(0);
    for (unsigned i = 0; i < 4; ++i) {
      std::uint32_t pair;
      asm("lop3.b32 %0, %1, 0x000f000f, 0x64006400, 0xea;" : "=r"(pair) : "r"(q >> (4 * i)));
      const __half2 weight = __hsub2(reinterpret_cast<const __half2&>(pair), __float2half2_rn(1032));
      const unsigned at = 65536 + word * 8 + i * 2;
      partial = __hfma2(weight, __floats2half2_rn(real(in[at]), real(in[at + 1])), partial);
    }
    sum += __low2float(partial) + __high2float(partial);
  }
  sum = warp_sum(sum);
  if (lane == 0) out[row] = sum;
}

// Bytes by dp4a and pairs of 16 bits by dp2a.
__global__ void byte_vectors(const std::uint32_t* in, int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (unsigned k = 0; k < 32; ++k) {
    const std::uint32_t a = in[i * 16 + k], b = in[131072 + k];
    sum = __dp4a(static_cast<int>(a), static_cast<int>(b), sum);
    sum = static_cast<int>(__dp4a(a, b, static_cast<unsigned>(sum)));
    sum = __dp2a_lo(static_cast<int>(a), static_cast<int>(b), sum);
    sum = __dp2a_hi(static_cast<int>(b), static_cast<int>(a), sum);
    sum += static_cast<int>(__vabsdiffu4(a, b) ^ __vaddss2(a, b));
  }
  out[i] = sum;
}

// The sum over k split among blocks that add to the result in turn.
__global__ void split_k(const std::uint32_t* in, unsigned* turns, float* out) {
  constexpr unsigned kSize = 64;
  const unsigned row = blockIdx.x, column = threadIdx.x, split = blockIdx.y;
  float sum = 0;
  for (unsigned k = split * 32; k < split * 32 + 32; ++k) {
    sum = __fmaf_rn(real(in[row * 256 + k]), real(in[65536 + k * kSize + column]), sum);
  }
  if (threadIdx.x == 0) {
    unsigned turn;
    do {
      asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(turn) : "l"(&turns[row]) : "memory");
    } while (turn != split);
  }
  __syncthreads();
  out[row * kSize + column] += sum;
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&turns[row]) : "memory");
}

// A symmetric matrix of 32 x 32 a warp: L of L L^T, then the solution for one right-hand side.
__global__ void cholesky(const std::uint32_t* in, float* out) {
  __shared__ float m[32][33];
  const unsigned lane = threadIdx.x;
  const std::uint32_t* const own = in + blockIdx.x * 1024;
  for (unsigned r = 0; r < 32; ++r) m[r][lane] = real(own[max(r, lane) * 32 + min(r, lane)]) + (r == lane ? 32.0f : 0.0f);
  __syncwarp();
  for (unsigned k = 0; k < 32; ++k) {
    const float pivot = sqrtf(m[k][k]);
    __syncwarp();
    if (lane == k) m[k][k] = pivot;
    if (lane > k) m[lane][k] /= pivot;
    __syncwarp();
    if (lane > k) {
      for (unsigned j = k + 1; j <= lane; ++j) m[lane][j] = __fmaf_rn(-m[lane][k], m[j][k], m[lane][j]);
    }
    __syncwarp();
  }
  float x = real(in[200000 + blockIdx.x * 32 + lane]);
  for (int k = 0; k < 32; ++k) {
    const float solved = __shfl_sync(0xffffffff, x / m[lane][lane], k);
    if (static_cast<int>(lane) > k) x = __fmaf_rn(-m[lane][k], solved, x);
  }
  out[blockIdx.x * 32 + lane] = x / m[lane][lane];
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"product_tiled", 4 * 128 * 128,
     [](const std::uint32_t* in, void* out) { tiled<<<dim3(2, 2), 256>>>(in, static_cast<float*>(out)); }},
    {"product_staged_bf16", 4 * 64 * 64,
     [](const std::uint32_t* in, void* out) {
       const Scratch<__nv_bfloat16> a(64 * 256), b(64 * 256);
       small_integers<__nv_bfloat16><<<64, 256>>>(in, a);
       small_integers<__nv_bfloat16><<<64, 256>>>(in + 65536, b);
       staged<<<1, 128>>>(a, b, static_cast<float*>(out));
     }},
    {"product_bytes", 4 * 128 * 64,
     [](const std::uint32_t* in, void* out) { bytes<<<64, 32>>>(in, in + 65536, static_cast<int*>(out)); }},
    {"product_wmma_relu", 4 * 64 * 64,
     [](const std::uint32_t* in, void* out) {
       const Scratch<__half> a(64 * 128), b(64 * 128);
       small_integers<__half><<<32, 256>>>(in, a);
       small_integers<__half><<<32, 256>>>(in + 65536, b);
       by_wmma<<<dim3(4, 4), 32>>>(a, b, static_cast<float*>(out));
     }},
    {"product_doubles", 8 * 64 * 64,
     [](const std::uint32_t* in, void* out) { doubles<<<64, 32>>>(in, static_cast<double*>(out)); }},
    {"product_four_bits", 4 * 512,
     [](const std::uint32_t* in, void* out) { four_bits<<<512, 32>>>(in, static_cast<float*>(out)); }},
    {"product_byte_vectors", 4 * 8192,
     [](const std::uint32_t* in, void* out) { byte_vectors<<<64, 128>>>(in, static_cast<int*>(out)); }},
    {"product_split_k", 4 * 64 * 64,
     [](const std::uint32_t* in, void* out) {
       const Scratch<unsigned> turns(64);
       split_k<<<dim3(64, 8), 64>>>(in, turns, static_cast<float*>(out));
     }},
    {"product_cholesky", 4 * 32 * 64, [](const std::uint32_t* in, void* out) {
       cholesky<<<64, 32>>>(in, static_cast<float*>(out));
     }})
