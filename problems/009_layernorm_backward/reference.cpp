// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor &x_hat = in["X_hat"], &dy = in["dY"];
  require(x_hat.shape() == dy.shape(), "layernorm_backward: X_hat is {} but dY is {}", x_hat.shape(), dy.shape());
  Tensor d_beta = sum(dy, {.dimensions = {0}});
  Tensor d_gamma = sum(dy * x_hat, {.dimensions = {0}});
  ctx.world().all_reduce(d_beta, Reduce::sum);
  ctx.world().all_reduce(d_gamma, Reduce::sum);
  return {{"d_gamma", d_gamma}, {"d_beta", d_beta}};
}

// The sum over ranks rounds W times, a rank's own sum is fp32 over its rows, and products may be rounded to T first.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const auto over_ranks = [&](Tensor tensor, Reduce op = Reduce::sum) {
    ctx.world().all_reduce(tensor, op);
    return tensor;
  };
  const Tensor products = in["dY"] * in["X_hat"];
  const double rows = over_ranks(Tensor::full({1}, double(products.size(0)), DType::f64, ctx.place()), Reduce::max).item();
  const auto bound = [&](const Tensor& terms, double rounding_of_terms) {
    const Tensor parts = over_ranks(abs(sum(terms, {.dimensions = {0}})));
    const Tensor magnitudes = over_ranks(sum(abs(terms), {.dimensions = {0}}));
    return sum_bound(ctx, parts) + magnitudes * (rounding_of_terms + rows * 0x1p-24);
  };
  return {{"d_gamma", bound(products, unit_roundoff(ctx.run_dtype())) + rows * subnormal_step(ctx.run_dtype())},
          {"d_beta", bound(in["dY"], 0)}};
}

}  // namespace pkb
