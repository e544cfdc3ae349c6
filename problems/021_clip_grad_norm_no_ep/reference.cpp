// SPDX-License-Identifier: Apache-2.0
#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"

namespace pkb {

using namespace ref;

namespace {

/// The p-norm of all ranks' gradients together, a tensor of shape (1).
Tensor total_norm(Context& ctx, const Tensors& gradients) {
  const double p = ctx.param("norm_type");
  const DType dtype = as_float(gradients["grad_0"]).dtype();
  Tensor powers = Tensor::zeros({1}, dtype, ctx.place());
  for (const auto& [name, gradient] : gradients) {
    const Tensor magnitude = abs(as_float(gradient));
    powers = powers + sum(p == 2 ? square(magnitude) : pow(magnitude, p));
  }
  ctx.world().all_reduce(powers, Reduce::sum);
  return p == 2 ? sqrt(powers) : pow(powers, 1 / p);
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const double max_norm = ctx.param("max_norm");
  const Tensor norm = total_norm(ctx, in);
  Tensors out{{"total_norm", norm}};
  const bool clips = norm.item() > max_norm;
  const Tensor factor = Tensor::full({1}, max_norm, norm.dtype(), norm.place()) / norm;
  // A factor of the gradients' own dtype, as a 0-d tensor takes part in PyTorch.
  for (const auto& [name, gradient] : in)
    out.set(name, clips ? gradient * factor.to(gradient.dtype()) : gradient.clone());
  return out;
}

// The factor may be rounded to T, and the product is; the norm is fp32, which moves the factor by less than
// 2^-16.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensors exact = reference(ctx, in);
  const double u = unit_roundoff(ctx.run_dtype());
  Tensors bound{{"total_norm", exact["total_norm"] * 1e-5}};
  for (const auto& [name, gradient] : in)
    bound.set(name, abs(exact[name]) * (2 * u + u * u + 0x1p-16) + subnormal_step(ctx.run_dtype()));
  return bound;
}

}  // namespace pkb
