// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

namespace {

/// The history with its oldest entry dropped and the largest |gradient| of now appended, in bf16.
Tensor updated_history(const Tensors& in) {
  const Tensor &grads = in["flat_grads"], &history = in["amax_history"];
  const Tensor largest = amax(abs(grads)).view({1}).to(DType::bf16);
  return cat({history.narrow(0, 1, history.numel() - 1).to(DType::bf16), largest});
}

/// The gradient after a pass through FP8 with one scale. Every step is fp32 whatever the run: the codes are a format.
Tensor through_fp8(const Tensor& grads, const Tensor& history) {
  const Tensor most = maximum(amax(history), Tensor::full({}, 1e-12, DType::bf16, history.place())).to(DType::f32);
  const Tensor scale = most * static_cast<double>(1.0f / 448.0f);
  const Tensor codes = (grads.to(DType::f32) / scale).to(DType::e4m3);
  return (codes.to(DType::f32) * scale).to(grads.dtype());
}

Tensor summed_shard(Context& ctx, const Tensor& whole) {
  const int ranks = ctx.world().size();
  require(whole.numel() % ranks == 0, "fp8_reduce_scatter_grads: {} elements over {} ranks", whole.numel(), ranks);
  Tensor shard = Tensor::empty({whole.numel() / ranks}, whole.dtype(), whole.place());
  ctx.world().reduce_scatter_tensor(shard, whole, Reduce::sum);
  return shard;
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor history = updated_history(in);
  const Tensor shard = summed_shard(ctx, through_fp8(in["flat_grads"], history));
  return {{"out_shard", shard / ctx.world().size()}, {"updated_hist", history.to(in["amax_history"].dtype())}};
}

// What FP8 gives may be rounded to T, W partial sums too, and the mean.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const double ranks = ctx.world().size(), u = unit_roundoff(ctx.run_dtype());
  const Tensor magnitudes = summed_shard(ctx, abs(through_fp8(in["flat_grads"], updated_history(in))));
  return {{"out_shard", (sum_bound(ctx, magnitudes) + magnitudes * (2 * u)) / ranks + subnormal_step(ctx.run_dtype())}};
}

// Ranks' gradients differ in size; the largest entry of the history is the oldest, which must not count, then one
// that does, then smaller than what the gradients have.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor grads = in["flat_grads"], history = in["amax_history"];
  const int rank = ctx.world().rank();
  random_fill(grads, {.stddev = std::ldexp(1, 3 * (rank % 4) - 6)}, request.key(0, rank));
  history.fill_(1e-8);
  if (request.trial % 3 == 2) return;
  history.narrow(0, request.trial % 3 == 0 ? 0 : 1 + (5 + rank) % (history.numel() - 1), 1).fill_(std::ldexp(1.25, 3 * (rank % 4) - 1));
}

}  // namespace pkb
