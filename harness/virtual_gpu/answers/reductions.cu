// SPDX-License-Identifier: Apache-2.0
// Reductions and scans, within warps, blocks and grids.
#include <cuda_bf16.h>

#include "harness/virtual_gpu/answers/answer.cuh"

namespace pkb::virtual_gpu::answers {
namespace {

__global__ void tree(const std::uint32_t* in, float* out) {
  __shared__ float part[256];
  part[threadIdx.x] = real(in[blockIdx.x * 256 + threadIdx.x]);
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// The block that arrives last adds up the sums of all, in the order of the blocks.
__global__ void last_block(const std::uint32_t* in, float* partial, unsigned* arrived, double* out) {
  __shared__ float of_warp[8];
  __shared__ bool is_last;
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += real(in[(blockIdx.x * 8 + i) * 256 + threadIdx.x]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0;
    for (const float each : of_warp) total += each;
    partial[blockIdx.x] = total;
    __threadfence();
    is_last = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence();
  double total = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) total += __ldcg(&partial[i]);
  *out = total;
}

__global__ void arg_max(const std::uint32_t* in, unsigned long long* out) {
  unsigned long long best = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < 65536; i += gridDim.x * blockDim.x) {
    best = max(best, static_cast<unsigned long long>(in[i] >> 12) << 32 | (0xffffffffu - i));
  }
  for (int lane = 16; lane > 0; lane /= 2) best = max(best, __shfl_down_sync(0xffffffff, best, lane));
  if (threadIdx.x % 32 == 0) atomicMax(out, best);
}

// A warp a row of 256.
__global__ void layer_norm(const std::uint32_t* in, __nv_bfloat16* out) {
  const unsigned row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  float x[8], sum = 0, squares = 0;
  for (int i = 0; i < 8; ++i) sum += x[i] = real(in[row * 256 + i * 32 + lane]);
  const float mean = warp_sum(sum) / 256;
  for (const float each : x) squares = __fmaf_rn(each - mean, each - mean, squares);
  const float scale = 1 / sqrtf(warp_sum(squares) / 256 + 1e-5f);
  for (int i = 0; i < 8; ++i) {
    const float weight = real(in[200000 + i * 32 + lane]), bias = real(in[210000 + i * 32 + lane]);
    out[row * 256 + i * 32 + lane] = __float2bfloat16_rn(__fmaf_rn((x[i] - mean) * scale, weight, bias));
  }
}

// Blocks of 128 threads, 8 values each, read as vectors of 16 bytes.
__global__ void rms_norm(const uint4* in, const uint4* residual, uint4* out) {
  __shared__ float of_warp[4];
  uint4 word = in[blockIdx.x * 128 + threadIdx.x];
  const uint4 more = residual[blockIdx.x * 128 + threadIdx.x];
  auto* const pairs = reinterpret_cast<__nv_bfloat162*>(&word);
  const auto* const added = reinterpret_cast<const __nv_bfloat162*>(&more);
  float2 x[4];
  float squares = 0;
  for (int i = 0; i < 4; ++i) {
    // The exponents of random bits are cut to those of numbers near 1.
    auto& bits = reinterpret_cast<std::uint32_t&>(pairs[i]);
    bits = (bits & 0x83ff83ff) | 0x3c003c00;
    std::uint32_t other = reinterpret_cast<const std::uint32_t&>(added[i]);
    other = (other & 0x81ff81ff) | 0x3e003e00;
    const float2 a = __bfloat1622float2(pairs[i]);
    const float2 b = __bfloat1622float2(reinterpret_cast<const __nv_bfloat162&>(other));
    x[i] = {a.x + b.x, a.y + b.y};
    squares = __fmaf_rn(x[i].y, x[i].y, __fmaf_rn(x[i].x, x[i].x, squares));
  }
  squares = warp_sum(squares);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
  __syncthreads();
  const float total = (of_warp[0] + of_warp[1]) + (of_warp[2] + of_warp[3]);
  const float root = sqrtf(total / 1024 + 1e-6f);
  for (int i = 0; i < 4; ++i) pairs[i] = __floats2bfloat162_rn(x[i].x / root, x[i].y / root);
  out[blockIdx.x * 128 + threadIdx.x] = word;
}

__global__ void column_sums(const std::uint32_t* in, unsigned long long* out) {
  unsigned long long sum = 0;
  for (unsigned row = blockIdx.x; row < 512; row += gridDim.x) {
    sum += static_cast<unsigned long long>(static_cast<long long>(real(in[row * 256 + threadIdx.x]) * 0x1p40f));
  }
  atomicAdd(&out[threadIdx.x], sum);
}

__global__ void compensated_dot(const std::uint32_t* in, double* out) {
  __shared__ double sums[128], lost[128];
  double sum = 0, correction = 0;
  for (unsigned i = threadIdx.x; i < 32768; i += 128) {
    const double term = __dmul_rn(real(in[i]), real(in[65536 + i]) * 1e-3);
    const double y = __dsub_rn(term, correction), t = __dadd_rn(sum, y);
    correction = __dsub_rn(__dsub_rn(t, sum), y);
    sum = t;
  }
  sums[threadIdx.x] = sum;
  lost[threadIdx.x] = correction;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 128; ++i) sum = __dadd_rn(sum, __dsub_rn(sums[i], lost[i]));
  *out = sum;
}

// Mean and variance of pairs of groups, combined up a tree of lanes.
__global__ void welford(const std::uint32_t* in, double* out) {
  const unsigned warp = blockIdx.x * blockDim.x / 32 + threadIdx.x / 32, lane = threadIdx.x % 32;
  float count = 0, mean = 0, m2 = 0;
  for (int i = 0; i < 16; ++i) {
    const float x = real(in[warp * 512 + i * 32 + lane]), delta = x - mean;
    count += 1;
    mean += delta / count;
    m2 = __fmaf_rn(delta, x - mean, m2);
  }
  for (int step = 1; step < 32; step *= 2) {
    const float n = __shfl_down_sync(0xffffffff, count, step), other = __shfl_down_sync(0xffffffff, mean, step);
    const float m = __shfl_down_sync(0xffffffff, m2, step);
    const float delta = other - mean, total = count + n;
    mean += delta * n / total;
    m2 += m + delta * delta * count * n / total;
    count = total;
  }
  if (lane == 0) {
    out[warp * 2] = mean;
    out[warp * 2 + 1] = m2;
  }
}

__global__ void warp_votes(const std::uint32_t* in, std::uint32_t* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, word = in[i];
  std::uint32_t mix = __reduce_add_sync(0xffffffff, word) ^ __reduce_min_sync(0xffffffff, word) * 3;
  mix += __reduce_max_sync(0xffffffff, static_cast<int>(word)) * 5 + __reduce_xor_sync(0xffffffff, word) * 7;
  mix ^= __reduce_and_sync(0xffffffff, word | 0xff) + __reduce_or_sync(0xffffffff, word & 0xff00);
  mix += __ballot_sync(0xffffffff, word % 3 == 0) ^ __match_any_sync(0xffffffff, word % 5);
  if (__any_sync(0xffffffff, word > 0xf0000000u)) mix = __brev(mix);
  if (__all_sync(0xffffffff, word > 0x08000000u)) mix = ~mix;
  out[i] = mix;
}

// Work-efficient, up and down a tree in shared memory, without bank conflicts.
__global__ void blelloch(const std::uint32_t* in, std::uint32_t* out) {
  constexpr unsigned kCount = 512;
  __shared__ std::uint32_t data[kCount + kCount / 32];
  const auto at = [&](unsigned i) -> std::uint32_t& { return data[i + i / 32]; };
  const unsigned t = threadIdx.x, base = blockIdx.x * kCount;
  at(2 * t) = in[base + 2 * t];
  at(2 * t + 1) = in[base + 2 * t + 1];
  unsigned step = 1;
  for (unsigned active = kCount / 2; active > 0; active /= 2, step *= 2) {
    __syncthreads();
    if (t < active) at(step * (2 * t + 2) - 1) += at(step * (2 * t + 1) - 1);
  }
  if (t == 0) at(kCount - 1) = 0;
  for (unsigned active = 1; active < kCount; active *= 2) {
    step /= 2;
    __syncthreads();
    if (t >= active) continue;
    const unsigned a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
    const std::uint32_t left = at(a);
    at(a) = at(b);
    at(b) += left;
  }
  __syncthreads();
  out[base + 2 * t] = at(2 * t);
  out[base + 2 * t + 1] = at(2 * t + 1);
}

// One pass: a block looks back until it finds a predecessor that knows its whole prefix. Blocks take numbers, so that
// whoever is waited for has started.
__global__ void look_back(const std::uint32_t* in, unsigned long long* states, unsigned* ticket, std::uint32_t* out) {
  constexpr unsigned long long kOwn = 1ull << 32, kPrefix = 2ull << 32;
  __shared__ unsigned tile, prefix, of_warp[8];
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned i = tile * 256 + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned sum = in[i];
  for (int step = 1; step < 32; step *= 2) {
    const unsigned left = __shfl_up_sync(0xffffffff, sum, step);
    if (lane >= step) sum += left;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  unsigned total = 0;
  for (unsigned w = 0; w < 8; ++w) {
    if (w < warp) sum += of_warp[w];
    total += of_warp[w];
  }
  if (threadIdx.x == 0) {
    const auto publish = [&](unsigned long long state) {
      asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(&states[tile]), "l"(state) : "memory");
    };
    unsigned before = 0;
    publish((tile == 0 ? kPrefix : kOwn) | total);
    for (int other = static_cast<int>(tile) - 1; other >= 0;) {
      unsigned long long state;
      asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(state) : "l"(&states[other]) : "memory");
      if (state == 0) continue;
      before += static_cast<unsigned>(state);
      if (state >= kPrefix) break;
      --other;
    }
    if (tile > 0) publish(kPrefix | static_cast<unsigned>(before + total));
    prefix = before;
  }
  __syncthreads();
  out[i] = prefix + sum;
}

// Floats, restarted where a segment begins.
__global__ void segmented_scan(const std::uint32_t* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float sum = real(in[i]);
  const unsigned heads = __ballot_sync(0xffffffff, in[i] % 7 == 0) | 1;
  const int first = 31 - __clz(heads & (0xffffffffu >> (31 - lane)));
  for (int step = 1; step < 32; step *= 2) {
    const float left = __shfl_up_sync(0xffffffff, sum, step);
    if (static_cast<int>(lane) - step >= first) sum += left;
  }
  out[i] = sum;
}

__global__ void count_kept(const std::uint32_t* in, unsigned* counts) {
  const int count = __syncthreads_count(in[blockIdx.x * 256 + threadIdx.x] % 3 == 0);
  if (threadIdx.x == 0) counts[blockIdx.x] = static_cast<unsigned>(count);
}
__global__ void keep(const std::uint32_t* in, const unsigned* counts, std::uint32_t* out) {
  __shared__ unsigned of_warp[8];
  const std::uint32_t word = in[blockIdx.x * 256 + threadIdx.x];
  const unsigned kept = __ballot_sync(0xffffffff, word % 3 == 0), warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) of_warp[warp] = static_cast<unsigned>(__popc(kept));
  __syncthreads();
  unsigned at = static_cast<unsigned>(__popc(kept & ((1u << threadIdx.x % 32) - 1)));
  for (unsigned w = 0; w < warp; ++w) at += of_warp[w];
  for (unsigned b = 0; b < blockIdx.x; ++b) at += counts[b];
  if (word % 3 == 0) out[at] = word;
}

// h[t] = a[t] * h[t - 1] + b[t], as state space models scan: pairs (a, b) combine associatively.
__global__ void recurrence(const std::uint32_t* in, float* out) {
  __shared__ float2 state[256];
  const unsigned t = threadIdx.x, base = blockIdx.x * 256;
  float2 own = {real(in[base + t]), real(in[131072 + base + t])};
  for (unsigned step = 1; step < 256; step *= 2) {
    state[t] = own;
    __syncthreads();
    if (t >= step) {
      const float2 left = state[t - step];
      own = {own.x * left.x, __fmaf_rn(own.x, left.y, own.y)};
    }
    __syncthreads();
  }
  out[base + t] = own.y;
}

}  // namespace
}  // namespace pkb::virtual_gpu::answers

using namespace pkb::virtual_gpu::answers;

PKB_ANSWERS(
    {"reduce_tree", 4 * 256,
     [](const std::uint32_t* in, void* out) {
       tree<<<256, 256>>>(in, static_cast<float*>(out));
     }},
    {"reduce_last_block", 8,
     [](const std::uint32_t* in, void* out) {
       const Scratch<float> partial(64);
       const Scratch<unsigned> arrived(1);
       last_block<<<64, 256>>>(in, partial, arrived, static_cast<double*>(out));
     }},
    {"reduce_arg_max", 8,
     [](const std::uint32_t* in, void* out) {
       arg_max<<<20, 256>>>(in, static_cast<unsigned long long*>(out));
     }},
    {"reduce_layer_norm", 2 * 256 * 256,
     [](const std::uint32_t* in, void* out) {
       layer_norm<<<64, dim3(32, 4)>>>(in, static_cast<__nv_bfloat16*>(out));
     }},
    {"reduce_rms_norm", 2 * 1024 * 64,
     [](const std::uint32_t* in, void* out) {
       rms_norm<<<64, 128>>>(reinterpret_cast<const uint4*>(in), reinterpret_cast<const uint4*>(in + 131072),
                             static_cast<uint4*>(out));
     }},
    {"reduce_column_sums", 8 * 256,
     [](const std::uint32_t* in, void* out) {
       column_sums<<<37, 256>>>(in, static_cast<unsigned long long*>(out));
     }},
    {"reduce_compensated_dot", 8,
     [](const std::uint32_t* in, void* out) {
       compensated_dot<<<1, 128>>>(in, static_cast<double*>(out));
     }},
    {"reduce_welford", 16 * 256,
     [](const std::uint32_t* in, void* out) {
       welford<<<64, 128>>>(in, static_cast<double*>(out));
     }},
    {"reduce_warp_votes", 4 * 16384,
     [](const std::uint32_t* in, void* out) {
       warp_votes<<<64, 256>>>(in, static_cast<std::uint32_t*>(out));
     }},
    {"scan_blelloch", 4 * 512 * 64,
     [](const std::uint32_t* in, void* out) {
       blelloch<<<64, 256>>>(in, static_cast<std::uint32_t*>(out));
     }},
    {"scan_look_back", 4 * 256 * 256,
     [](const std::uint32_t* in, void* out) {
       const Scratch<unsigned long long> states(256);
       const Scratch<unsigned> ticket(1);
       look_back<<<256, 256>>>(in, states, ticket, static_cast<std::uint32_t*>(out));
     }},
    {"scan_segmented", 4 * 32768,
     [](const std::uint32_t* in, void* out) {
       segmented_scan<<<128, 256>>>(in, static_cast<float*>(out));
     }},
    {"scan_compaction", 4 * 16384,
     [](const std::uint32_t* in, void* out) {
       const Scratch<unsigned> counts(64);
       count_kept<<<64, 256>>>(in, counts);
       keep<<<64, 256>>>(in, counts, static_cast<std::uint32_t*>(out));
     }},
    {"scan_recurrence", 4 * 256 * 64, [](const std::uint32_t* in, void* out) {
       recurrence<<<64, 256>>>(in, static_cast<float*>(out));
     }})
