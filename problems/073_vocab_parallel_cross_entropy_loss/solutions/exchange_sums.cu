// SPDX-License-Identifier: Apache-2.0
// Cross-entropy with a split vocabulary in one exchange: each rank reduces its slice of a token's logits to
// their log-sum-exp and, where it has it, the target's logit, and stores both to every rank; then every rank
// merges W such pairs per token.
#include <pkb/vocab_parallel_cross_entropy_loss.h>
#include <pkb/device.cuh>

namespace {

using pkb::T;
constexpr int kThreads = 256;

float2* parts_here;  // [source rank][token]: log-sum-exp, the target's logit or 0
pkb::Signals signals;

struct Maximum {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct Sum {
  __device__ float operator()(float a, float b) const { return a + b; }
};

/// Of every thread's value, to every thread.
template <class Op>
__device__ float over_block(float value, Op op) {
  __shared__ float of_warp[kThreads / 32];
  for (int lane = 16; lane > 0; lane /= 2) value = op(value, __shfl_xor_sync(0xffffffffu, value, lane));
  __syncthreads();  // the last values have been read
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warp[0];
  for (int warp = 1; warp < kThreads / 32; ++warp) value = op(value, of_warp[warp]);
  return value;
}

// Blocks take tokens in turn.
__global__ void __launch_bounds__(kThreads)
    reduce_slices(const T* logits, const std::int64_t* target, int tokens, int width,
                  pkb::Peers<float2> parts, pkb::Signals signals) {
  for (int token = blockIdx.x; token < tokens; token += gridDim.x) {
    const T* row = logits + std::int64_t{token} * width;
    float most = -INFINITY, total = 0;
    for (int i = threadIdx.x; i < width; i += kThreads) most = fmaxf(most, static_cast<float>(row[i]));
    most = over_block(most, Maximum{});
    if (most > -INFINITY)
      for (int i = threadIdx.x; i < width; i += kThreads) total += expf(static_cast<float>(row[i]) - most);
    total = over_block(total, Sum{});
    const std::int64_t place = target[token] - std::int64_t{parts.rank} * width;
    const float wanted = place >= 0 && place < width ? static_cast<float>(row[place]) : 0.0f;
    for (int r = threadIdx.x; r < parts.ranks; r += kThreads)
      parts[r][std::int64_t{parts.rank} * tokens + token] = make_float2(most + logf(total), wanted);
  }
  signals.finish();
}

__global__ void merge(const float2* parts, float* loss, int tokens, int ranks) {
  const int token = blockIdx.x * blockDim.x + threadIdx.x;
  if (token >= tokens) return;
  float most = -INFINITY, total = 0, wanted = 0;
  for (int r = 0; r < ranks; ++r) most = fmaxf(most, parts[std::int64_t{r} * tokens + token].x);
  for (int r = 0; r < ranks; ++r) {
    const float2 part = parts[std::int64_t{r} * tokens + token];
    total += expf(part.x - most);
    wanted += part.y;
  }
  loss[token] = logf(total) + (most - wanted);
}

}  // namespace

void setup(pkb::Context& ctx, const pkb::Args& args) {
  parts_here = static_cast<float2*>(ctx.symmetric(ctx.world_size() * args.loss.numel() * sizeof(float2)));
  signals = pkb::Signals(ctx, 0);
}

void run(pkb::Context& ctx, const pkb::Args& args) {
  const int tokens = static_cast<int>(args.loss.numel());
  if (tokens == 0) return;
  reduce_slices<<<min(tokens, 1024), kThreads, 0, ctx.stream()>>>(
      args.vocab_parallel_logits.as<T>(), args.target.as<std::int64_t>(), tokens,
      static_cast<int>(args.vocab_parallel_logits.shape[2]), pkb::peers_of(ctx, parts_here), signals);
  merge<<<(tokens + kThreads - 1) / kThreads, kThreads, 0, ctx.stream()>>>(parts_here, args.loss.as<float>(),
                                                                           tokens, ctx.world_size());
}
