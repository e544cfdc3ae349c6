// SPDX-License-Identifier: Apache-2.0
#include "reference/mlp.h"
#include "reference/ops.h"
#include "reference/optimizer.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/uneven.h"

namespace pkb {

using namespace ref;

namespace {

MlpShape shape_of(Context& ctx, const Tensors& in) {
  return {.in = in["X_local"].size(1), .hidden = ctx.param("h"), .out = in["y_local"].size(1)};
}

AdamOptions options_of(Context& ctx) {
  return {.lr = ctx.param("lr"),
          .beta1 = ctx.param("beta1"),
          .beta2 = ctx.param("beta2"),
          .eps = ctx.param("eps"),
          .weight_decay = ctx.param("weight_decay"),
          .step = ctx.param("step")};
}

/// The flat gradient by this rank's rows, in the dtype of the data.
Tensor local_gradient(Context& ctx, const Tensors& in) {
  const Tensor& x = in["X_local"];
  const MlpShape shape = shape_of(ctx, in);
  const Tensor gathered = all_gather_shards(ctx.world(), in["flat_param_shard"].to(x.dtype()), shape.parameters());
  return flattened(mse_gradient(unflattened(gathered, shape), x, in["y_local"]));
}

AdamState state_of(const Tensors& in) { return {in["flat_param_shard"], in["exp_avg_shard"], in["exp_avg_sq_shard"]}; }

Tensors outputs(const AdamState& state) {
  return {{"updated_param_shard", state.parameter},
          {"updated_exp_avg_shard", state.exp_avg},
          {"updated_exp_avg_sq_shard", state.exp_avg_sq}};
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor gradient = reduce_scatter_shards(ctx.world(), local_gradient(ctx, in)) / ctx.world().size();
  return outputs(adam(state_of(in), gradient.to(in["flat_param_shard"].dtype()), options_of(ctx)));
}

Tensors error_bound(Context& ctx, const Tensors& in) {
  Tensor gradient = local_gradient(ctx, in);
  ctx.world().all_reduce(gradient, Reduce::sum);
  gradient = gradient / ctx.world().size();
  const Tensor error = mse_gradient_bound(ctx, gradient, shape_of(ctx, in), in["X_local"].size(0));
  return outputs(adam_bound(state_of(in), own_shard(ctx.world(), gradient), own_shard(ctx.world(), error), options_of(ctx)));
}

void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const MlpShape shape = shape_of(ctx, in);
  const std::int64_t batch = in["X_local"].size(0);
  Tensor x = in["X_local"], y = in["y_local"];
  random_batch(x, y, request.key(0, ctx.world().rank()));
  // All ranks make the same vectors and take their shards.
  Tensor flat = Tensor::empty({shape.parameters()}, DType::f32, x.place());
  random_mlp(flat, shape, request.key(10, 0));
  Tensor(in["flat_param_shard"]).copy_(own_shard(ctx.world(), flat));
  Tensor second = flat.empty_like();
  random_moments(flat, second, shape, batch, request.key(20, 0));
  Tensor(in["exp_avg_shard"]).copy_(own_shard(ctx.world(), flat));
  Tensor(in["exp_avg_sq_shard"]).copy_(own_shard(ctx.world(), second));
}

}  // namespace pkb
