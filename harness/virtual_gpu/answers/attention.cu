// SPDX-License-Identifier: Apache-2.0
// Softmax, attention, and what stands around them in a model.
#include <cuda_bf16.h>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace pkb::virtual_gpu::answers {
namespace {

constexpr float kLog2E = 1.44269504f;

__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, step));
  return value;
}

// A warp a row of 512, in one pass: the sum is rescaled whenever the maximum grows.
__global__ void softmax(const std::uint32_t* in, __nv_bfloat16* out) {
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  float most = -INFINITY, sum = 0;
  for (unsigned i = lane; i < 512; i += 32) {
    const float x = 8 * real(in[row * 512 + i]) * kLog2E, next = fmaxf(most, x);
    sum = __fmaf_rn(sum, exp2_of_negative(most - next), exp2_of_negative(x - next));
    most = next;
  }
  const float all = warp_max(most);
  sum = warp_sum(sum * exp2_of_negative(most - all));
  for (unsigned i = lane; i < 512; i += 32) {
    const float x = 8 * real(in[row * 512 + i]) * kLog2E;
    out[row * 512 + i] = __float2bfloat16_rn(exp2_of_negative(x - all) / sum);
  }
}

__device__ void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
__device__ unsigned pack(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return reinterpret_cast<const unsigned&>(pair);
}

// A warp has 16 queries and walks over 128 keys, 16 at a time, with causal masking; heads have 64 dimensions. Logits
// are integers of a few bits and weights powers of two: every sum is exact.
__global__ void flash_attention(const std::uint32_t* in, float* out) {
  constexpr int kKeys = 128, kHead = 64;
  __shared__ alignas(16) __nv_bfloat16 keys[kKeys][kHead], values[kKeys][kHead];
  const std::uint32_t *const k_in = in + 65536, *const v_in = in + 131072;
  for (int i = static_cast<int>(threadIdx.x); i < kKeys * kHead; i += 128) {
    keys[i / kHead][i % kHead] = static_cast<float>(static_cast<int>(k_in[i] % 3) - 1);
    values[i / kHead][i % kHead] = static_cast<float>(small(v_in[i]));
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x % 32), first = static_cast<int>(threadIdx.x / 32 * 16 + blockIdx.x * 64);
  const int row = lane / 4, column = lane % 4 * 2;
  const auto query = [&](int r, int c) {
    return c % 8 == 0 ? static_cast<float>(static_cast<int>(in[(first + r) * kHead + c] % 3) - 1) : 0.0f;
  };
  unsigned q[4][4];
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < 4; ++i) {
      const int r = row + i % 2 * 8, c = k * 16 + i / 2 * 8 + column;
      q[k][i] = pack(query(r, c), query(r, c + 1));
    }
  }
  float most[2] = {-INFINITY, -INFINITY}, sum[2] = {}, o[8][4] = {};
  for (int base = 0; base < kKeys; base += 16) {
    float s[2][4] = {};
    for (int n = 0; n < 2; ++n) {
      for (int k = 0; k < 4; ++k) {
        const auto* const key = reinterpret_cast<const unsigned*>(&keys[base + n * 8 + row][k * 16 + column]);
        const unsigned b[2] = {key[0], key[4]};
        multiply(s[n], q[k], b);
      }
    }
    for (int half = 0; half < 2; ++half) {  // rows `row` and `row + 8`
      float next = most[half];
      for (int n = 0; n < 2; ++n) {
        for (int i = 0; i < 2; ++i) {
          float& each = s[n][half * 2 + i];
          if (base + n * 8 + column + i > first + row + half * 8) each = -INFINITY;
          next = fmaxf(next, each);
        }
      }
      for (int step = 1; step < 4; step *= 2) next = fmaxf(next, __shfl_xor_sync(0xffffffff, next, step));
      const float scale = next == -INFINITY ? 1 : exp2_of_integer(most[half] - next);
      most[half] = next;
      sum[half] *= scale;
      for (auto& each : o) {
        each[half * 2] *= scale;
        each[half * 2 + 1] *= scale;
      }
      for (int n = 0; n < 2; ++n) {
        for (int i = 0; i < 2; ++i) {
          float& each = s[n][half * 2 + i];
          each = next == -INFINITY ? 0 : exp2_of_integer(each - next);
          sum[half] += each;
        }
      }
    }
    const unsigned p[4] = {pack(s[0][0], s[0][1]), pack(s[0][2], s[0][3]), pack(s[1][0], s[1][1]), pack(s[1][2], s[1][3])};
    for (int n = 0; n < 8; ++n) {
      unsigned b[2];
      asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                   : "=r"(b[0]), "=r"(b[1])
                   : "r"(shared_address(&values[base + lane % 16][n * 8])));
      multiply(o[n], p, b);
    }
  }
  for (int half = 0; half < 2; ++half) {
    for (int step = 1; step < 4; step *= 2) sum[half] += __shfl_xor_sync(0xffffffff, sum[half], step);
    for (int n = 0; n < 8; ++n) {
      for (int i = 0; i < 2; ++i) {
        out[(first + row + half * 8) * kHead + n * 8 + column + i] = o[n][half * 2 + i] / sum[half];
      }
    }
  }
}

// One new token against pages of keys and values that a table finds; the pages of a sequence are split over blocks.
constexpr int kHeadSize = 64, kPage = 16, kPages = 8;
__global__ void decode_part(const std::uint32_t* in, float* parts) {
  const std::uint32_t* const query = in + blockIdx.x * kHeadSize;
  const std::uint32_t* const keys = in + 65536;
  const std::uint32_t* const values = in + 131072;
  const unsigned warp = blockIdx.x * kPages + blockIdx.y, lane = threadIdx.x;
  const unsigned page = in[4096 + warp] % 64;
  float most = -INFINITY, sum = 0, o[2] = {};
  for (unsigned t = 0; t < kPage; ++t) {
    const unsigned at = (page * kPage + t) * kHeadSize + lane;
    const float s = warp_sum(__fmaf_rn(real(query[lane]), real(keys[at]), __fmul_rn(real(query[lane + 32]), real(keys[at + 32]))));
    const float next = fmaxf(most, s), scale = exp2_of_negative(most - next), p = exp2_of_negative(s - next);
    sum = __fmaf_rn(sum, scale, p);
    o[0] = __fmaf_rn(o[0], scale, __fmul_rn(p, real(values[at])));
    o[1] = __fmaf_rn(o[1], scale, __fmul_rn(p, real(values[at + 32])));
    most = next;
  }
  float* const to = parts + warp * (kHeadSize + 2);
  to[lane] = o[0];
  to[lane + 32] = o[1];
  if (lane == 0) {
    to[kHeadSize] = most;
    to[kHeadSize + 1] = sum;
  }
}
__global__ void decode_combine(const float* parts, float* out) {
  const float* const own = parts + blockIdx.x * kPages * (kHeadSize + 2);
  float most = -INFINITY, sum = 0, o = 0;
  for (int i = 0; i < kPages; ++i) most = fmaxf(most, own[i * (kHeadSize + 2) + kHeadSize]);
  for (int i = 0; i < kPages; ++i) {
    const float* const part = own + i * (kHeadSize + 2);
    const float scale = exp2_of_negative(part[kHeadSize] - most);
    sum = __fmaf_rn(part[kHeadSize + 1], scale, sum);
    o = __fmaf_rn(part[threadIdx.x], scale, o);
  }
  out[blockIdx.x * kHeadSize + threadIdx.x] = o / sum;
}

// A block a row of 1024 classes.
__global__ void cross_entropy(const std::uint32_t* in, float* loss, float* gradient) {
  __shared__ float of_warp[8];
  const unsigned t = threadIdx.x, target = in[200000 + blockIdx.x] % 1024;
  float x[4], most = -INFINITY;
  for (int i = 0; i < 4; ++i) most = fmaxf(most, x[i] = 4 * real(in[blockIdx.x * 1024 + i * 256 + t]));
  most = warp_max(most);
  if (t % 32 == 0) of_warp[t / 32] = most;
  __syncthreads();
  for (const float each : of_warp) most = fmaxf(most, each);
  __syncthreads();
  float sum = 0;
  for (float& each : x) sum += each = exp2_of_negative((each - most) * kLog2E);
  sum = warp_sum(sum);
  if (t % 32 == 0) of_warp[t / 32] = sum;
  __syncthreads();
  sum = 0;
  for (const float each : of_warp) sum += each;
  for (int i = 0; i < 4; ++i) {
    const unsigned column = i * 256 + t;
    gradient[blockIdx.x * 1024 + column] = x[i] / sum - (column == target ? 1.0f : 0.0f);
  }
  if (t == 0) loss[blockIdx.x] = logf(sum) + most - 4 * real(in[blockIdx.x * 1024 + target]);
}

// Each token goes to the best two of 16 experts; then tokens are put in the order of their experts.
__global__ void route(const std::uint32_t* in, int* expert, float* weight, int* counts) {
  const unsigned token = blockIdx.x * blockDim.x + threadIdx.x;
  int best = 0, second = -1;
  const auto logit = [&](int e) { return 2 * real(in[token * 16 + static_cast<unsigned>(e)]); };
  for (int e = 1; e < 16; ++e) {
    if (logit(e) > logit(best)) {
      second = best;
      best = e;
    } else if (second < 0 || logit(e) > logit(second)) {
      second = e;
    }
  }
  const float other = exp2_of_negative((logit(second) - logit(best)) * kLog2E);
  expert[2 * token] = best;
  expert[2 * token + 1] = second;
  weight[2 * token] = 1 / (1 + other);
  weight[2 * token + 1] = other / (1 + other);
  atomicAdd(&counts[best], 1);
  atomicAdd(&counts[second], 1);
}
// A warp an expert: the order of tokens within an expert is that of their numbers.
__global__ void permute(const int* expert, const int* counts, int slots, int* source) {
  const int e = static_cast<int>(threadIdx.y), lane = static_cast<int>(threadIdx.x);
  int at = 0;
  for (int i = 0; i < e; ++i) at += counts[i];
  for (int base = 0; base < slots; base += 32) {
    const bool mine = expert[base + lane] == e;
    const unsigned ballot = __ballot_sync(0xffffffff, mine);
    if (mine) source[at + __popc(ballot & ((1u << lane) - 1))] = base + lane;
    at += __popc(ballot);
  }
}

// gate * sigmoid(gate) * up, in vectors of 16 bytes.
__global__ void swiglu(const std::uint32_t* in, uint4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned packed[4];
  for (unsigned k = 0; k < 4; ++k) {
    float y[2];
    for (unsigned j = 0; j < 2; ++j) {
      const float gate = 6 * real(in[i * 8 + k * 2 + j]), up = real(in[131072 + i * 8 + k * 2 + j]);
      const float small = exp2_of_negative(-fabsf(gate) * kLog2E);
      y[j] = gate * ((gate >= 0 ? 1.0f : small) / (1 + small)) * up;
    }
    packed[k] = pack(y[0], y[1]);
  }
  out[i] = make_uint4(packed[0], packed[1], packed[2], packed[3]);
}

// Bags of 1 to 8 rows of a table, gathered and averaged.
__global__ void embedding_bag(const std::uint32_t* in, float4* out) {
  const unsigned bag = blockIdx.x, count = in[bag] % 8 + 1;
  float4 sum = {};
  for (unsigned i = 0; i < count; ++i) {
    const unsigned row = in[1024 + bag * 8 + i] % 1024;
    const uint4 word = reinterpret_cast<const uint4*>(in + 65536)[row * 32 + threadIdx.x];
    sum.x += real(word.x);
    sum.y += real(word.y);
    sum.z += real(word.z);
    sum.w += real(word.w);
  }
  const auto n = static_cast<float>(count);
  out[bag * 32 + threadIdx.x] = {sum.x / n, sum.y / n, sum.z / n, sum.w / n};
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"attention_softmax", 2 * 512 * 128,
     [](const std::uint32_t* in, void* out) { softmax<<<32, dim3(32, 4)>>>(in, static_cast<__nv_bfloat16*>(out)); }},
    {"attention_flash", 4 * 64 * 128,
     [](const std::uint32_t* in, void* out) { flash_attention<<<2, 128>>>(in, static_cast<float*>(out)); }},
    {"attention_paged_decode", 4 * 64 * 32,
     [](const std::uint32_t* in, void* out) {
       const Scratch<float> parts(32 * kPages * (kHeadSize + 2));
       decode_part<<<dim3(32, kPages), 32>>>(in, parts);
       decode_combine<<<32, kHeadSize>>>(parts, static_cast<float*>(out));
     }},
    {"attention_cross_entropy", 4 * (128 + 128 * 1024),
     [](const std::uint32_t* in, void* out) {
       auto* const loss = static_cast<float*>(out);
       cross_entropy<<<128, 256>>>(in, loss, loss + 128);
     }},
    {"attention_route_to_experts", 4 * (3 * 4096 + 16),
     [](const std::uint32_t* in, void* out) {
       constexpr int kSlots = 2 * 2048;
       auto* const expert = static_cast<int*>(out);
       int *const source = expert + kSlots, *const counts = expert + 3 * kSlots;
       route<<<16, 128>>>(in, expert, reinterpret_cast<float*>(expert + 2 * kSlots), counts);
       permute<<<1, dim3(32, 16)>>>(expert, counts, kSlots, source);
     }},
    {"attention_swiglu", 16 * 8192,
     [](const std::uint32_t* in, void* out) { swiglu<<<64, 128>>>(in, static_cast<uint4*>(out)); }},
    {"attention_embedding_bag", 16 * 32 * 512, [](const std::uint32_t* in, void* out) {
       embedding_bag<<<512, 32>>>(in, static_cast<float4*>(out));
     }})
