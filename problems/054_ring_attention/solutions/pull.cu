// SPDX-License-Identifier: Apache-2.0
// Ring attention by loads: in step s a rank attends to the keys and values of the rank s before it, while
// other blocks of the same kernel fetch those of the next one. Inputs do not change and are complete on all
// ranks, so nobody waits for anybody; what a step leaves (maximum, sum and weighted values of each query)
// stays in memory for the next.
#include <pkb/ring_attention.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kThreads = 128, kWarps = kThreads / 32, kCommunicating = 16;
constexpr int kMostWidth = 256, kPerLane = kMostWidth / 32;

T *keys_here[2], *values_here[2];  // of the step, and of the next
float* state_here;                 // [query][width + 2]: weighted values, maximum, sum

struct Step {
  const T *q, *k, *v;        // k, v: of rank `source`
  const T *next_k, *next_v;  // on the rank after that, null in the last step
  T *to_k, *to_v;
  float* state;
  T* out;  // null but in the last step
  int batch, tokens, heads, width;
  float scale;
  bool first, diagonal;  // diagonal: causal within the block

  __host__ __device__ std::int64_t queries() const { return std::int64_t{batch} * tokens * heads; }
};

/// One warp has query (b, t, h) of (B, S, H, D); a lane scores every 32nd key and owns every 32nd of the
/// values' numbers.
__device__ void attend(const Step& s, std::int64_t query) {
  __shared__ float shared_q[kWarps][kMostWidth];
  const int lane = threadIdx.x % 32;
  float* const q = shared_q[threadIdx.x / 32];
  const int head = query % s.heads, token = query / s.heads % s.tokens;
  const std::int64_t batch = query / s.heads / s.tokens;
  for (int d = lane; d < s.width; d += 32) q[d] = static_cast<float>(s.q[query * s.width + d]) * s.scale;
  __syncwarp();

  float* const state = s.state + query * (s.width + 2);
  float most = s.first ? -INFINITY : state[s.width], total = s.first ? 0 : state[s.width + 1],
        sums[kPerLane] = {};
  for (int i = 0; i < kPerLane; ++i)
    if (!s.first && lane + 32 * i < s.width) sums[i] = state[lane + 32 * i];

  const int keys = s.diagonal ? token + 1 : s.tokens;
  const auto row = [&](int key) { return ((batch * s.tokens + key) * s.heads + head) * s.width; };
  for (int begin = 0; begin < keys; begin += 32) {
    float score = -INFINITY;
    if (begin + lane < keys) {
      score = 0;
      const T* key = s.k + row(begin + lane);
      for (int d = 0; d < s.width; ++d) score += q[d] * static_cast<float>(key[d]);
    }
    float now = fmaxf(most, score);
    for (int l = 16; l > 0; l /= 2) now = fmaxf(now, __shfl_xor_sync(0xffffffffu, now, l));
    const float kept = expf(most - now), weight = expf(score - now);
    float added = weight;
    for (int l = 16; l > 0; l /= 2) added += __shfl_xor_sync(0xffffffffu, added, l);
    total = total * kept + added;
    most = now;
    for (float& sum : sums) sum *= kept;
    for (int j = 0; j < min(32, keys - begin); ++j) {
      const float of_key = __shfl_sync(0xffffffffu, weight, j);
      const T* value = s.v + row(begin + j);
      for (int i = 0; i < kPerLane; ++i)
        if (lane + 32 * i < s.width) sums[i] += of_key * static_cast<float>(value[lane + 32 * i]);
    }
  }

  __syncwarp();  // every lane has read the state
  for (int i = 0; i < kPerLane; ++i) {
    const int d = lane + 32 * i;
    if (d >= s.width) continue;
    if (s.out != nullptr)
      s.out[query * s.width + d] = static_cast<T>(sums[i] / total);
    else
      state[d] = sums[i];
  }
  if (lane == 0) state[s.width] = most, state[s.width + 1] = total;
}

__global__ void __launch_bounds__(kThreads) ring_step(Step s) {
  pkb::split_grid(
      kCommunicating,
      [&](pkb::Part part) {
        const std::int64_t stride = std::int64_t{part.count} * kWarps;
        for (std::int64_t query = std::int64_t{part.index} * kWarps + threadIdx.x / 32; query < s.queries();
             query += stride)
          attend(s, query);
      },
      [&](pkb::Part part) {
        if (s.next_k == nullptr) return;
        const pkb::Range mine = pkb::share_of(s.queries() * s.width, part);
        pkb::store(pkb::whole_block(), s.to_k + mine.begin, s.next_k + mine.begin, mine.end - mine.begin);
        pkb::store(pkb::whole_block(), s.to_v + mine.begin, s.next_v + mine.begin, mine.end - mine.begin);
      });
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  for (int i = 0; i < 2; ++i) {
    keys_here[i] = static_cast<T*>(ctx.symmetric(args.k.numel() * sizeof(T)));
    values_here[i] = static_cast<T*>(ctx.symmetric(args.v.numel() * sizeof(T)));
  }
  const std::int64_t width = args.q.shape[3];
  state_here = static_cast<float*>(ctx.symmetric(args.q.numel() / width * (width + 2) * sizeof(float)));
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int rank = ctx.rank(), ranks = ctx.world_size();
  Step s{.q = args.q.as<T>(),
         .k = args.k.as<T>(),
         .v = args.v.as<T>(),
         .state = state_here,
         .batch = static_cast<int>(args.q.shape[0]),
         .tokens = static_cast<int>(args.q.shape[1]),
         .heads = static_cast<int>(args.q.shape[2]),
         .width = static_cast<int>(args.q.shape[3])};
  s.scale = args.softmax_scale > 0 ? static_cast<float>(args.softmax_scale)
                                   : 1 / sqrtf(static_cast<float>(s.width));
  const auto blocks = static_cast<unsigned>(min((s.queries() + kWarps - 1) / kWarps, std::int64_t{4096}));
  const int steps = args.causal != 0 ? rank + 1 : ranks;  // what lies in the future is not fetched
  for (int step = 0; step < steps; ++step) {
    const bool last = step + 1 == steps;
    const int source = (rank + 2 * ranks - step - 1) % ranks, buffer = step % 2;
    s.first = step == 0, s.diagonal = args.causal != 0 && step == 0;
    s.next_k = last ? nullptr : ctx.peer(args.k.as<const T>(), source);
    s.next_v = last ? nullptr : ctx.peer(args.v.as<const T>(), source);
    s.to_k = keys_here[buffer], s.to_v = values_here[buffer];
    s.out = last ? args.out.as<T>() : nullptr;
    ring_step<<<kCommunicating + blocks, kThreads, 0, ctx.stream()>>>(s);
    s.k = s.to_k, s.v = s.to_v;
  }
}
