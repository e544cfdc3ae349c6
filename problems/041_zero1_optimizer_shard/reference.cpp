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

MlpShape shape_of(const Tensors& in) {
  return {.in = in["W1"].size(1), .hidden = in["W1"].size(0), .out = in["W2"].size(0)};
}

AdamOptions options_of(Context& ctx) {
  return {.lr = ctx.param("lr"),
          .beta1 = ctx.param("beta1"),
          .beta2 = ctx.param("beta2"),
          .eps = ctx.param("eps"),
          .step = ctx.param("step")};
}

/// Rank 0's parameters, flat.
Tensor broadcast_parameters(Context& ctx, const Tensors& in) {
  Tensor flat = flattened({in["W1"], in["b1"], in["W2"], in["b2"]});
  ctx.world().broadcast(flat, 0);
  return flat;
}

/// The mean over ranks of the flat gradient, in the dtype of the data.
Tensor mean_gradient(Context& ctx, const Tensors& in, const Tensor& parameters) {
  const Tensor& x = in["X_local"];
  Tensor gradient = flattened(mse_gradient(unflattened(parameters.to(x.dtype()), shape_of(in)), x, in["y_local"]));
  ctx.world().all_reduce(gradient, Reduce::sum);
  return gradient / ctx.world().size();
}

AdamState own_state(Context& ctx, const Tensors& in, const Tensor& parameters) {
  return {own_shard(ctx.world(), parameters), in["exp_avg_part"], in["exp_avg_sq_part"]};
}

/// With everybody's updated slices.
Tensors outputs(Context& ctx, const AdamState& own, const MlpShape& shape) {
  const Mlp model = unflattened(all_gather_shards(ctx.world(), own.parameter, shape.parameters()), shape);
  return {{"updated_W1", model.w1},
          {"updated_b1", model.b1},
          {"updated_W2", model.w2},
          {"updated_b2", model.b2},
          {"updated_exp_avg_part", own.exp_avg},
          {"updated_exp_avg_sq_part", own.exp_avg_sq}};
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor parameters = broadcast_parameters(ctx, in);
  const Tensor gradient = own_shard(ctx.world(), mean_gradient(ctx, in, parameters)).to(parameters.dtype());
  return outputs(ctx, adam(own_state(ctx, in, parameters), gradient, options_of(ctx)), shape_of(in));
}

Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor parameters = broadcast_parameters(ctx, in), gradient = mean_gradient(ctx, in, parameters);
  const Tensor error = mse_gradient_bound(ctx, gradient, shape_of(in), in["X_local"].size(0));
  const AdamState bound = adam_bound(own_state(ctx, in, parameters), own_shard(ctx.world(), gradient), own_shard(ctx.world(), error),
                                     options_of(ctx));
  return outputs(ctx, bound, shape_of(in));
}

// Ranks other than 0 have other parameters, which must not count.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  const MlpShape shape = shape_of(in);
  Tensor x = in["X_local"], y = in["y_local"];
  random_batch(x, y, request.key(0, ctx.world().rank()));
  Tensor flat = Tensor::empty({shape.parameters()}, DType::f32, x.place());
  random_mlp(flat, shape, request.key(10, ctx.world().rank()));
  const Mlp model = unflattened(flat, shape);
  Tensor(in["W1"]).copy_(model.w1);
  Tensor(in["b1"]).copy_(model.b1);
  Tensor(in["W2"]).copy_(model.w2);
  Tensor(in["b2"]).copy_(model.b2);
  // All ranks make the same moments and take their shards.
  Tensor second = flat.empty_like();
  random_moments(flat, second, shape, x.size(0), request.key(20, 0));
  Tensor(in["exp_avg_part"]).copy_(own_shard(ctx.world(), flat));
  Tensor(in["exp_avg_sq_part"]).copy_(own_shard(ctx.world(), second));
}

}  // namespace pkb
