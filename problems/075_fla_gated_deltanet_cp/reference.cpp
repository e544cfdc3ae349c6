// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "reference/delta_rule.h"
#include "reference/error_model.h"
#include "reference/indexing.h"
#include "reference/ops.h"
#include "reference/pointwise.h"
#include "reference/problem.h"
#include "reference/random.h"
#include "reference/ulysses.h"

namespace pkb {

using namespace ref;

namespace {

/// x / max(|x|, 1e-6) along the last dimension.
Tensor normalized(const Tensor& x) {
  const Tensor norm = sqrt(sum(square(x), {.dimensions = {-1}, .keep = true}));
  return x / clamp(norm, 1e-6, std::numeric_limits<double>::infinity());
}

}  // namespace

Tensors reference(Context& ctx, const Tensors& in) {
  const Group& world = ctx.world();
  const std::int64_t width = in["q"].size(3), values = in["v"].size(3),
                     repeat = in["v"].size(2) / in["q"].size(2);
  require(in["v"].size(2) % in["q"].size(2) == 0, "fla_gated_deltanet_cp: {} values for queries {}",
          in["v"].shape(), in["q"].shape());

  // Own positions and all heads become all positions and own heads.
  const Tensor qk = as_float(gather_seq_scatter_heads(world, cat({in["q"], in["k"]}, -1)));
  const Tensor vgb = as_float(gather_seq_scatter_heads(
      world, cat({in["v"], in["gate"].unsqueeze(-1), in["beta"].unsqueeze(-1)}, -1)));
  const Tensor v = vgb.narrow(3, 0, values), gate = vgb.select(3, values), beta = vgb.select(3, values + 1);

  // Neighbouring value heads share a query head.
  const Tensor shared = floor_divide(arange(v.size(2), DType::i64, v.place()), repeat);
  const Tensor q = normalized(index_select(qk.narrow(3, 0, width), 2, shared)) *
                   (1 / std::sqrt(static_cast<double>(width)));
  const Tensor k = normalized(index_select(qk.narrow(3, width, width), 2, shared));
  const Tensor decay = exp(-exp(as_float(in["a_log"])) * softplus(gate + as_float(in["dt_bias"])));

  const Tensor out = gated_delta_rule(q, k, v, decay.unsqueeze(-1), beta);
  return {{"out", gather_heads_scatter_seq(world, out.to(in["q"].dtype()))}};
}

// Two roundings to T, one of the result and one to spare, and what fp32 makes of the state: far less than the
// typical size of a head's output.
Tensors error_bound(Context& ctx, const Tensors& in) {
  const Tensor out = reference(ctx, in)["out"];
  const Tensor typical = sqrt(mean(square(out), {.dimensions = {0, 1, 3}, .keep = true}));
  return {{"out", abs(out) * (2 * unit_roundoff(ctx.run_dtype())) + typical * 4e-5 +
                      subnormal_step(ctx.run_dtype())}};
}

// Slow decay, so that a state lives through several ranks; with every second trial gates of 100 and keys of
// zeroes here and there. Keys have a common part, so that corrections matter.
void make_inputs(Context& ctx, const InputRequest& request, Tensors& in) {
  Tensor k = in["k"], gate = in["gate"];
  const auto key = [&](int tensor) { return request.key(tensor, ctx.world().rank()); };
  random_fill(k, {.mean = 0.5}, key(0));
  random_fill(gate, {.mean = -6, .stddev = 1}, key(1));
  if (request.trial % 2 == 0) return;
  const auto every = [&](const Shape& rows, std::int64_t step) {
    const std::int64_t count = numel(rows);
    return eq(remainder(arange(count, DType::i64, k.place()), step), static_cast<double>(step - 1))
        .view(rows);
  };
  gate.copy_(masked_fill(gate, every(gate.shape(), 41), 100));
  k.copy_(masked_fill(k, every({k.size(0), k.size(1), k.size(2), 1}, 17).expand(k.shape()), 0));
}

}  // namespace pkb
