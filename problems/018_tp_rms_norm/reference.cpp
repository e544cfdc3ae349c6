// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include "reference/error_model.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"

namespace pkb {

using namespace ref;

Tensors reference(Context& ctx, const Tensors& in) {
  const Tensor &hidden = in["local_hidden_states"], &weight = in["local_weight"];
  const Tensor x = as_float(hidden);
  Tensor squares = sum(square(x), {.dimensions = {-1}, .keep = true});
  ctx.world().all_reduce(squares, Reduce::sum);
  const Tensor variance = squares / static_cast<double>(hidden.size(-1) * ctx.world().size());
  const Tensor normed = x * rsqrt(variance + ctx.param("variance_epsilon"));
  return {{"out", weight * normed.to(hidden.dtype())}};
}

// Two roundings to T, and a sum of W N squares in fp32, whose relative error the root halves.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor& weight = in["local_weight"];
  const double terms = static_cast<double>(weight.numel()) * ctx.world().size();
  const double u = unit_roundoff(ctx.run_dtype()), step = subnormal_step(ctx.run_dtype());
  return {{"out", abs(reference(ctx, in)["out"]) * (2 * u + u * u + (terms / 2 + 4) * 0x1p-24) +
                      (abs(weight) * step + step)}};
}

// Ranks hold parts of very different size, so that a row's scale cannot be told from one of them; every third row is
// so small that epsilon matters, and every seventh is zero.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor hidden = in["local_hidden_states"];
  const int rank = ctx.world().rank();
  random_fill(hidden, {}, request.key(0, rank));
  std::vector<double> scales;
  for (std::int64_t row = 0; row < hidden.size(0); ++row) {
    const auto exponent = row % 3 == 2 ? 9 : (row + 3 * rank + request.trial) % 5;
    scales.push_back(row % 7 == 6 ? 0 : std::ldexp(1, -static_cast<int>(exponent)));
  }
  hidden.copy_(hidden * Tensor::from_values(scales, {hidden.size(0), 1}, hidden.dtype(), hidden.place()));
}

}  // namespace pkb
